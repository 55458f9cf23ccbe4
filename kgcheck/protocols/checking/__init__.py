"""A protocol that is checked: what it rests on, its order, what it lacks, and how good it is."""
