// Small, for trials: the cheap tiers of Service Bus and the registry, reachable from the internet, still without keys and passwords.
using 'main.bicep'

param isPrivate = false
param logRetentionDays = 30
param tags = { product: 'matoolkit', environment: 'dev' }
