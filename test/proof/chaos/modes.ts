// Every mode of `npm run chaos -- --mode <name>`. To add one, write it in modes/ and list it here; then run `npm run docs`.
import { doHarm } from './faults.ts'
import { type ChaosMode, harmMode } from './mode.ts'
import { clusterOnPostgres, clusterOnServiceBus } from './modes/cluster.ts'
import { cutTenantMode } from './modes/cut-tenant.ts'
import { databaseDown } from './modes/database-down.ts'
import { diskFullMode } from './modes/disk-full.ts'
import { freeze } from './modes/freeze.ts'
import { hangingSourcesMode } from './modes/hanging-sources.ts'
import { notificationsMode } from './modes/notifications.ts'
import { restoreMode } from './modes/restore.ts'
import { serviceBusSeedsMode } from './modes/servicebus-seeds.ts'
import { giantMode, giantSlowMode, manyBatchesMode, memoryMode } from './modes/sizes.ts'

const kills = harmMode(
  'kills',
  'processes killed, frozen and stopped, server crashes, a faulty network: all at random',
  doHarm,
  { minutes: 5, members: 500 },
)

/** The first one is the default. */
export const CHAOS_MODES: readonly [ChaosMode, ...ChaosMode[]] = [
  kills,
  freeze,
  databaseDown,
  cutTenantMode,
  diskFullMode,
  restoreMode,
  notificationsMode,
  hangingSourcesMode,
  manyBatchesMode,
  giantMode,
  giantSlowMode,
  memoryMode,
  serviceBusSeedsMode,
  clusterOnPostgres,
  clusterOnServiceBus,
]

export const chaosMode = (name: string): ChaosMode | undefined =>
  CHAOS_MODES.find((mode) => mode.name === name)
