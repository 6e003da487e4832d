// Production: nothing is reachable from the internet, logs are kept for half a year.
using 'main.bicep'

param isPrivate = true
param logRetentionDays = 180
param tags = { product: 'matoolkit', environment: 'production' }
