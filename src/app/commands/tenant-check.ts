// `matoolkit doctor tenant`: signs in as a worker would, works out what the runbook needs, and prints one line per check. Needs no server.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { createLog } from '../../base/log/log.ts'
import { type Clock, realClock } from '../../base/run/clock.ts'
import { type Config, loadConfig } from '../../base/settings/config.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens } from '../../base/sign-in/token.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { sameName } from '../../base/text/same-name.ts'
import { readBytes, requireReplaceable, writeNewFile } from '../../cli/input/files.ts'
import { tableIn } from '../../cli/input/member-rows.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import type { OutputFormat } from '../../cli/terminal/show.ts'
import { showChecks } from '../../cli/terminal/show-checks.ts'
import { type Runbook, type RunbookStep, readRunbook } from '../../domain/runbook/read.ts'
import { stepsOf } from '../../domain/runbook/steps.ts'
import { type RecordRequest, recordAnswers, WireAnswers } from '../../m365/check/record.ts'
import { setupScript } from '../../m365/check/setup-script.ts'
import { checkTenant, type TenantPlan } from '../../m365/check/tenant-check.ts'
import { connectTenant } from '../../m365/client/connect.ts'
import { openCredential } from '../../m365/client/credential.ts'
import { NO_M365_TENANT } from '../../m365/client/tenant.ts'
import { STANDARD_FUNCTIONS } from '../../m365/functions/standard.ts'
import { openKeyVault } from '../../worker/open-worker.ts'

export interface TenantCheckFlags {
  readonly source?: true
  readonly target?: true
  readonly runbook?: string
  readonly people?: number
  readonly partner?: string
  readonly script?: true
  readonly record?: string
  readonly testPerson?: string
  readonly force?: true
  readonly output?: OutputFormat
}

export async function runTenantCheck(
  flags: TenantCheckFlags,
  io: Io,
  config: Config = loadConfig(),
): Promise<void> {
  const show = openShow(flags.output, io)
  if (flags.record !== undefined) requireReplaceable(flags.record, flags.force === true)
  else if (flags.testPerson !== undefined || flags.force) throw needsRecord(flags)
  const plan = await planOf(flags, config.workerId)
  if (flags.script) return printScript(plan, config, io)
  const answers = new WireAnswers()
  const tenant = await connect(config, realClock(), io, answers)
  const { signal } = new AbortController()
  try {
    const checks = await checkTenant({ tenant, plan, signal })
    const recorded =
      flags.record === undefined ? null : await record(flags, { tenant, plan, answers, signal })
    await showChecks(show, io, checks, recorded ? { recorded: { ...recorded } } : {})
    if (recorded) show.say(printable(`\n${toldOf(recorded)}`))
  } finally {
    tenant.close()
  }
}

/** Prints only: an administrator reads it and runs it. */
function printScript(plan: TenantPlan, config: Config, io: Io): void {
  const { side, partner, functions, endpoints, scopeGroups } = plan
  if (side === null)
    throw new MatoolkitError('USAGE', {
      reason: '--script needs a side. Add --source or --target.',
    })
  const workerId = config.workerId ?? `${side}-worker`
  const facts = { side, workerId, tenant: config.tenantId, partner, functions }
  io.out(setupScript({ ...facts, endpoints, scopeGroups }))
}

const needsRecord = ({ testPerson }: TenantCheckFlags): MatoolkitError =>
  new MatoolkitError('USAGE', {
    reason: `${testPerson === undefined ? '--force' : '--test-person'} belongs to --record. Add --record <file>.`,
  })

interface Recorded {
  /** Null when there was nothing to write. */
  readonly file: string | null
  readonly answers: number
  readonly leftOut: number
  readonly testPerson: string | null
}

/** A tenant that answers nothing gets no file. */
async function record(
  { record: file = '', testPerson = null, force }: RecordFlags,
  { plan, ...asked }: Omit<RecordRequest, 'plan' | 'now'> & { readonly plan: TenantPlan },
): Promise<Recorded> {
  const now = realClock().now()
  const { recording, leftOut } = await recordAnswers({
    ...asked,
    plan: { ...plan, person: testPerson },
    now,
  })
  const { length } = recording.answers
  if (length > 0)
    await writeNewFile(file, `${JSON.stringify(recording, null, 2)}\n`, force === true)
  return { file: length > 0 ? file : null, answers: length, leftOut, testPerson }
}

type RecordFlags = Omit<TenantCheckFlags, 'testPerson'> & { readonly testPerson?: string | null }

function toldOf({ file, answers, leftOut, testPerson }: Recorded): string {
  if (file === null) return 'Nothing was recorded: the tenant answered no call.'
  const about = testPerson === null ? 'nobody in particular' : testPerson
  const without =
    leftOut > 0 ? ` ${countText(leftOut, 'answer')} stayed out: a name was left in it.` : ''
  return `Recorded ${countText(answers, 'answer')}, about ${about}, in ${file}.${without} It only read; the tenant is unchanged.
  Look through the file before you pass it on. To rehearse like this tenant: matoolkit sandbox --replay ${file}`
}

/** Warnings of the sign-in go to stderr; the vault is opened only for a certificate in it. */
async function connect(config: Config, clock: Clock, io: Io, { see }: WireAnswers) {
  const destination = { write: (line: string) => io.err(line.trimEnd()) }
  const log = createLog({ level: 'error', format: 'pretty', clock, destination })
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const keyVault = openKeyVault(config, clock, tokens)
  const credential = await openCredential(config, clock, log, keyVault)
  const { secrets } = NO_M365_TENANT
  return connectTenant({ config, credential, tokens, clock, secrets, onAnswer: see })
}

async function planOf(
  { source, target, runbook: file, people, partner: given }: TenantCheckFlags,
  workerId: string | null,
): Promise<TenantPlan> {
  const side = source ? 'source' : target ? 'target' : null
  const partner = given ?? null
  if (file === undefined) {
    const nothing = { endpoints: [], deliveryDomains: [], licences: [], scopeGroups: [] }
    return { side, partner, functions: STANDARD_FUNCTIONS, ...nothing, people: people ?? null }
  }
  const runbook = await runbookIn(file)
  const steps = stepsFor(runbook, workerId)
  const used = new Set(steps.map((step) => step.function.toLowerCase()))
  return {
    side,
    partner,
    scopeGroups: literals(
      steps.filter((step) => sameName(step.function, 'Test-ExchangeGroupMembership')),
      'GroupIdentity',
    ),
    functions: STANDARD_FUNCTIONS.filter(({ name }) => used.has(name.toLowerCase())),
    endpoints: literals(steps, 'SourceEndpoint'),
    deliveryDomains: literals(steps, 'TargetDeliveryDomain'),
    licences: literals(
      steps.filter((step) => /^Add-/i.test(step.function)),
      'SkuId',
    ),
    people: people ?? (await peopleIn(runbook, file)),
  }
}

async function runbookIn(file: string): Promise<Runbook> {
  const { runbook, problems } = readRunbook(await readBytes(file))
  if (runbook !== null) return runbook
  const errors = problems.filter(({ severity }) => severity === 'error')
  const first = errors[0]?.message ?? ''
  throw new MatoolkitError('RUNBOOK_INVALID', { count: errors.length, first })
}

/** Those of this worker, if it is one of the runbook's. */
function stepsFor(runbook: Runbook, workerId: string | null): RunbookStep[] {
  const all = stepsOf(runbook)
  const own = all.filter((step) => workerId !== null && sameName(step.workerId, workerId))
  return own.length > 0 ? own : all
}

/** Values that are the same for everybody: text without a variable. */
function literals(steps: readonly RunbookStep[], parameter: string): string[] {
  const given = steps.flatMap(({ params }) =>
    Object.entries(params).flatMap(([name, value]) =>
      sameName(name, parameter) && typeof value === 'string' ? [value] : [],
    ),
  )
  return [...new Set(given.filter((value) => !value.includes('{{')))]
}

/** The rows of the runbook's CSV in the same folder; null for another source, and when the file lies only on the server. */
async function peopleIn({ dataSource }: Runbook, file: string): Promise<number | null> {
  const csv = dataSource.path === null ? null : resolve(dirname(file), dataSource.path)
  if (csv === null || !existsSync(csv)) return null
  return tableIn(await readBytes(csv), csv).rows.length
}
