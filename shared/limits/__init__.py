"""What holds jobs back: resting providers, budgets, and the limits of tenants."""
