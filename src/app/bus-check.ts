// `matoolkit bus check`: compares the Service Bus namespace of the settings with what it must hold. Needs no server and no database.
import type { Io } from '../cli/terminal/io.ts'
import { openShow } from '../cli/terminal/output.ts'
import type { Column, OutputFormat, Row } from '../cli/terminal/show.ts'
import { realClock } from '../clock.ts'
import { type Config, loadConfig } from '../config.ts'
import type { Json } from '../domain/json.ts'
import { EXIT } from '../errors.ts'
import { printable } from '../printable.ts'
import { checkServiceBus } from './transports.ts'

export interface BusCheckFlags {
  readonly workers?: readonly string[]
  readonly create?: true
  readonly output?: OutputFormat
}

const CHECKS: readonly Column[] = [
  ['CHECK', 'name', 'whole'],
  ['STATE', 'state'],
  ['ABOUT', 'about'],
  ['WHAT TO DO', 'advice'],
]

export async function runBusCheck(
  flags: BusCheckFlags,
  io: Io,
  config: Config = loadConfig(),
): Promise<void> {
  const show = openShow(flags.output, io)
  const checks = await checkServiceBus(config, realClock(), {
    workerIds: workerIdsOf(flags, config),
    mayCreate: flags.create === true,
  })
  const isOk = checks.every(({ state }) => state !== 'failed')
  const rows = checks as unknown as Row[]
  // Advice is printed below the table: a column would cut it.
  const columns = show.format === 'table' ? CHECKS.slice(0, -1) : CHECKS
  await show.list({ whole: { isOk, checks: rows as unknown as Json }, rows, columns, empty: '' })
  for (const { name, about, advice } of checks.filter((check) => check.advice !== ''))
    show.say(printable(`\n${name}: ${about}\n  ${advice}`))
  if (!isOk) io.exitCode = EXIT.failed
}

function workerIdsOf({ workers }: BusCheckFlags, config: Config): readonly string[] {
  if (workers) return workers
  const own = config.workerId === null ? [] : [config.workerId]
  return [...new Set([...own, ...config.foreignWorkers])]
}
