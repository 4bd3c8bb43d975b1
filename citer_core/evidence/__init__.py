"""What CITER claims, measured: parts that resume, one stored form for their results, and what follows from them."""
