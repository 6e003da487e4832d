// `matoolkit doctor bus`: compares the Service Bus namespace of the settings with what it must hold.
// Needs no server and no database.

import { realClock } from '../../base/run/clock.ts'
import { type Config, loadConfig } from '../../base/settings/config.ts'
import { declaredIds } from '../../base/text/worker-id.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import type { OutputFormat } from '../../cli/terminal/show.ts'
import { showChecks } from '../../cli/terminal/show-checks.ts'
import { checkServiceBus } from '../roles/transports.ts'

export interface BusCheckFlags {
  readonly workers?: readonly string[]
  readonly create?: true
  readonly output?: OutputFormat
}

/** Where the management of the Service Bus emulator listens. */
const EMULATOR_URL = 'http://localhost:5300'

export async function runBusCheck(
  flags: BusCheckFlags,
  io: Io,
  config: Config = loadConfig(),
  emulatorUrl = EMULATOR_URL,
): Promise<void> {
  const show = openShow(flags.output, io)
  const clock = realClock()
  const wanted = { workerIds: workerIdsOf(flags, config), mayCreate: flags.create === true }
  const checks = await checkServiceBus(config, clock, wanted, emulatorUrl)
  await showChecks(show, io, checks)
}

function workerIdsOf({ workers }: BusCheckFlags, config: Config): readonly string[] {
  if (workers) return workers
  const own = config.workerId === null ? [] : [config.workerId]
  return [...new Set([...own, ...declaredIds(config.declaredWorkers)])]
}
