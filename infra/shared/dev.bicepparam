// Small, for trials: the cheap tiers of Service Bus and the registry, reachable from the internet, still without keys and passwords.
using 'main.bicep'

param isPrivate = false
param logRetentionDays = 30
param vaultKeptDays = 7
param isVaultPurgeProtected = false
param archiveKeptDays = 1
param isArchiveGeoRedundant = false
param tags = { product: 'matoolkit', environment: 'dev' }
