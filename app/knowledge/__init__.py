"""Knowledge: claims made from evidence, facts promoted from claims, and every question about how they came to be."""
