// Shapes of parameters that more than one file has.

@export()
type networkIds = { id: string, appsSubnetId: string, privateEndpointsSubnetId: string }

@export()
type zoneIds = { serviceBus: string, keyVault: string, postgres: string, registry: string, blob: string }

@export()
@description('When Azure may restart the database: day 0 is Sunday, hours are UTC.')
type maintenanceHour = { day: int, hour: int }

@export()
type workerSetting = { name: string, value: string?, secretName: string? }

@export()
@description('A worker: its tenant, the app it signs in with, and the name of the certificate in its own vault.')
type workerEntry = {
  @description('As in the runbooks: small letters, digits and hyphens; not scheduler, orchestrator, api, migrate or scaler.')
  @maxLength(20)
  id: string
  tenantId: string
  organization: string
  appId: string
  certificate: string
  @description('Jobs at the same time in one replica.')
  slots: int?
  @description('1: it never sleeps, as for a night of cut-overs, or if nothing wakes it.')
  minReplicas: int?
  maxReplicas: int?
  @description('Another image by digest, such as one with PowerShell or with your functions.')
  image: string?
  @description('A secret has the name of a secret in its own vault instead of a value.')
  settings: workerSetting[]?
}
