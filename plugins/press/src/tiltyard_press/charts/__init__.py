"""Charts that hang in house styles only."""
