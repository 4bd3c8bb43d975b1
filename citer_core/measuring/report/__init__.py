"""The device report: all that is to be known of a device, most important first, in the minutes that there are."""
