"""The git repository that is the database: `main` holds kernels, `ledger` every finished submission."""
