// `matoolkit worker credential …`: credentials of workers that take their jobs through the API. A token is printed alone on stdout, once, so
// that it can go into a file; everything said about it goes to stderr.
import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import { readTextFile } from '../input/files.ts'
import {
  type CommandContext,
  durationMs,
  type Flags,
  showPages,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import { type Column, fieldsWithin } from '../terminal/show.ts'
import { addVerb, CHANGE, PAGED, REASON, type Verb } from './verb.ts'

type Credential = ListedRow<'GET /api/worker-credentials'>
type Made = Answer<'POST /api/workers/{workerId}/credentials'>

const CREDENTIALS: readonly Column<Credential>[] = [
  ['ID', 'id', 'whole'],
  ['WORKER', 'workerId'],
  ['KIND', 'kind'],
  ['STATE', 'state'],
  ['ENDS', 'endsAt'],
  ['LAST USED', 'lastUsedAt'],
  ['ADDRESS', 'address', 'spare'],
  ['THUMBPRINT', 'thumbprint', 'spare'],
  ['CREATED', 'createdAt', 'spare'],
  ['BY', 'createdBy', 'spare'],
]
const FIELDS = fieldsWithin(
  CREDENTIALS,
  ({ credential }: { readonly credential: Credential }) => credential,
)

const WORKER_ARG = ['<worker>', 'id of the worker'] as const
const MAKING: NonNullable<Verb['options']> = [
  ['--certificate <file>', 'register this certificate instead of a token'],
  ['--address <url>', 'API address that the worker uses'],
  ['--days <number>', 'days until it ends (default: 365)'],
]
const CREDENTIAL = ['--credential <id>', 'id of the credential'] as const

async function wantedOf({ client }: CommandContext, flags: Flags) {
  const file = textFlag(flags, 'certificate')
  const days = textFlag(flags, 'days')
  if (days !== undefined && !/^[1-9]\d{0,4}$/.test(days))
    throw usageError(`--days is "${days}", but must be a whole number above 0.`)
  const reason = textFlag(flags, 'reason')
  return {
    ...(file !== undefined && {
      certificate: await readTextFile(file),
      address: textFlag(flags, 'address') ?? new URL(client.apiUrl).origin,
    }),
    ...(days !== undefined && { days: Number(days) }),
    ...(reason !== undefined && { reason }),
  }
}

async function showMade({ io, show }: CommandContext, made: Made): Promise<void> {
  const { token, credential } = made
  const { workerId, id, endsAt } = credential
  if (token !== null)
    io.err(
      printable(
        `The token of worker ${workerId} is shown this once and valid until ${endsAt} (credential ${id}).`,
      ),
    )
  if (show.format === 'table' && token !== null) return io.out(token)
  await show.one(made, token === null ? FIELDS : [...FIELDS, ['token', 'token']])
}

async function runCreate(
  context: CommandContext,
  [workerId]: readonly string[],
  flags: Flags,
): Promise<void> {
  const given = { params: { workerId: workerId! }, body: await wantedOf(context, flags) }
  const endpoint = 'POST /api/workers/{workerId}/credentials'
  await showMade(context, await context.client.call(endpoint, given))
}

/** The one that is named, or the only valid one. */
async function chosenIn(
  { client }: CommandContext,
  workerId: string,
  flags: Flags,
): Promise<string> {
  const named = textFlag(flags, 'credential')
  if (named !== undefined) return named
  const query = { workerId, limit: 500 }
  const { credentials } = await client.call('GET /api/worker-credentials', { query })
  const valid = credentials.filter(({ state }) => state === 'valid')
  if (valid.length === 1) return valid[0]!.id
  const what = valid.length === 0 ? 'no valid credential' : `${valid.length} valid credentials`
  throw usageError(
    `Worker "${workerId}" has ${what}: ${valid.length === 0 ? 'create one' : 'choose one with --credential <id>'}.`,
  )
}

async function runRotate(
  context: CommandContext,
  [workerId]: readonly string[],
  flags: Flags,
): Promise<void> {
  const overlapMs = durationMs('--overlap', flags.overlap)
  const id = await chosenIn(context, workerId!, flags)
  const body = {
    ...(await wantedOf(context, flags)),
    ...(overlapMs !== undefined && { overlapHours: overlapMs / 3_600_000 }),
  }
  const params = { workerId: workerId!, credentialId: id }
  const endpoint = 'POST /api/workers/{workerId}/credentials/{credentialId}/rotate'
  const rotated = await context.client.call(endpoint, { params, body })
  const { id: old, endsAt } = rotated.replaced
  context.io.err(printable(`Credential ${old} works on until ${endsAt}.`))
  await showMade(context, rotated)
}

async function runRevoke(
  context: CommandContext,
  [workerId]: readonly string[],
  flags: Flags,
): Promise<void> {
  const id = await chosenIn(context, workerId!, flags)
  const what = `Revoke the credential ${id} of worker ${workerId}? Processes that use it stop taking jobs, and what they run ends without a result.`
  await confirm(context, { what, members: 0 })
  const body = { reason: await askReason(context) }
  const params = { workerId: workerId!, credentialId: id }
  const endpoint = 'POST /api/workers/{workerId}/credentials/{credentialId}/revoke'
  await context.show.one(await context.client.call(endpoint, { params, body }), FIELDS)
}

export function addWorkerCredentialCommands(worker: Command, io: Io): void {
  const noun = worker.command('credential').description('manage credentials of workers')
  addVerb(noun, io, {
    name: 'create',
    about: 'create a token, or register a certificate',
    args: [WORKER_ARG],
    options: [...MAKING, REASON],
    isText: true,
    more: 'The worker takes its jobs through the API with it (docs/bus.md). The token is shown this once.',
    examples: [
      'worker credential create contoso-worker > worker-token',
      'worker credential create branch-worker --certificate branch-worker.pem',
    ],
    run: runCreate,
  })
  addVerb(noun, io, {
    name: 'list',
    about: 'list credentials of workers',
    args: [['[worker]', 'only of this worker']],
    options: PAGED,
    examples: ['worker credential list', 'worker credential list contoso-worker --output json'],
    run: (context, [workerId]) =>
      showPages(context, 'GET /api/worker-credentials', {
        given: { query: { workerId } },
        columns: CREDENTIALS,
        empty: 'No worker has a credential.',
      }),
  })
  addVerb(noun, io, {
    name: 'rotate',
    about: 'replace a credential, with an overlap',
    args: [WORKER_ARG],
    options: [
      CREDENTIAL,
      ...MAKING,
      ['--overlap <duration>', 'how long the old one works on (default: 24h)'],
      REASON,
    ],
    isText: true,
    examples: ['worker credential rotate contoso-worker --overlap 2h > worker-token'],
    run: runRotate,
  })
  addVerb(noun, io, {
    name: 'revoke',
    about: 'revoke a credential at once',
    args: [WORKER_ARG],
    options: [CREDENTIAL, ...CHANGE],
    examples: [
      'worker credential revoke contoso-worker --reason "machine was stolen" --credential 5f0c3a9d21b4e876',
    ],
    run: runRevoke,
  })
}
