// Write down what a transaction did.
COMMIT
