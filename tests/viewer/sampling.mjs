/** What takes long is tried on a sample by `make test`, and as a whole by `make test-slow`, which sets SLOW. */
export const fewOrAll = (few, whole) => (process.env.SLOW ? whole : few);
