// `matoolkit complete <kinds> -- <word> <typed...>`, hidden: the names and ids that a shell offers for the word, one per line. It has a
// short time limit and says nothing when anything fails, because a person is typing.
import type { Command } from 'commander'
import type { CommandClient } from '../connection/client.ts'
import type { ProfileFlags } from '../connection/profile.ts'
import type { Io } from '../terminal/io.ts'
import { COMPLETION_KINDS, type CompletionKind } from './completion-shells.ts'

const LIMIT_MS = 1_500
const OFFERED_MAX = 200
/** A shell expands the words it is given, so everything else is left out. */
const HARMLESS = /^[\w.@+-]+$/

export function addCompleteCommands(program: Command, io: Io): void {
  program
    .command('complete', { hidden: true })
    .description('list names and ids for shells')
    .argument('<kinds>', `what the word may be, in order: ${COMPLETION_KINDS.join(', ')}`)
    .argument('[word]', 'the beginning of the word', '')
    .argument('[typed...]', 'the words before it')
    .action(async (kinds: string, word: string, typed: string[]) => {
      try {
        for (const name of await offered(kinds.split(','), { word, typed }, io)) io.out(name)
      } catch {
        // No API, no sign-in, too slow: the shell offers nothing.
      }
    })
}

interface Line {
  readonly word: string
  readonly typed: readonly string[]
}

async function offered(kinds: readonly string[], line: Line, io: Io): Promise<string[]> {
  const batchId = batchIn(line.typed)
  // The batch stands before its members, so a typed one is not asked for again.
  const [first, second] = kinds
  const kind = first === 'batch' && second !== undefined && batchId !== null ? second : first
  const names = await SOURCES[kind as CompletionKind]({
    ...line,
    batchId,
    client: () => clientFor(line, io),
    io,
  })
  return [...new Set(names)]
    .filter((name) => name.startsWith(line.word) && HARMLESS.test(name))
    .slice(0, OFFERED_MAX)
}

interface Asked extends Line {
  /** The batch that the typed words name. */
  readonly batchId: number | null
  readonly client: () => Promise<CommandClient>
  readonly io: Io
}

type Source = (asked: Asked) => Promise<readonly string[]>

const MANY = { limit: OFFERED_MAX }

const SOURCES: Readonly<Record<CompletionKind, Source>> = {
  runbook: async ({ client }) => {
    const { runbooks } = await (await client()).call('GET /api/runbooks', { query: MANY })
    return runbooks.map(({ name }) => name)
  },
  batch: async ({ client }) => {
    const { batches } = await (await client()).call('GET /api/batches', { query: MANY })
    return batches.map(({ id }) => String(id))
  },
  worker: async ({ client }) => {
    const { workers } = await (await client()).call('GET /api/workers')
    return workers.map(({ workerId }) => workerId)
  },
  function: async ({ io }) => {
    const { functions } = await io.packagedFunctions()
    return (functions ?? []).map(({ name }) => name)
  },
  member: ofBatch(async (batchId, client, word) => {
    const query = { ...MANY, sort: 'key', ...(word && { key: word }) } as const
    const given = { params: { batchId }, query }
    const { members } = await client.call('GET /api/batches/{batchId}/members', given)
    return members.map(({ memberKey }) => memberKey)
  }),
  phase: ofBatch(async (batchId, client) => {
    const given = { params: { batchId } }
    const { phases } = await client.call('GET /api/batches/{batchId}/phases', given)
    return phases.map(({ phaseName }) => phaseName)
  }),
  step: ofBatch(stepsOf),
  profile: async () =>
    Object.keys((await import('../connection/profile.ts')).readConfigFile().profiles),
  instance: async () => {
    const { runningInstances } = await import('../connection/instances.ts')
    return (await runningInstances()).map(({ url }) => new URL(url).port)
  },
}

function ofBatch(
  list: (batchId: number, client: CommandClient, word: string) => Promise<string[]>,
): Source {
  return async ({ batchId, client, word }) =>
    batchId === null ? [] : list(batchId, await client(), word)
}

/** The steps of the phases, from the version that the batch follows. */
async function stepsOf(batchId: number, client: CommandClient): Promise<string[]> {
  const { batch } = await client.call('GET /api/batches/{batchId}', { params: { batchId } })
  const params = { name: batch.runbookName, version: batch.runbookVersion }
  const endpoint = 'GET /api/runbooks/{name}/versions/{version}'
  const { yamlContent } = await client.call(endpoint, { params })
  const { readRunbook } = await import('../../domain/runbook/read.ts')
  const { runbook } = readRunbook(yamlContent, { catalogues: [] })
  return (runbook?.phases ?? []).flatMap(({ steps }) => steps.map(({ name }) => name))
}

const BATCH_ID = /^[1-9]\d{0,9}$/

/** The number behind `--member`, else the first that is no flag's value, else the first. */
function batchIn(typed: readonly string[]): number | null {
  const numbers = typed.flatMap((word, at) =>
    BATCH_ID.test(word) ? [{ id: Number(word), before: typed[at - 1] ?? '' }] : [],
  )
  const found =
    numbers.find(({ before }) => before === '--member') ??
    numbers.find(({ before }) => !before.startsWith('-')) ??
    numbers[0]
  return found?.id ?? null
}

/** Asks the API that the command itself would talk to. */
async function clientFor({ typed }: Line, io: Io): Promise<CommandClient> {
  const { contextOf } = await import('../program/command-context.ts')
  const { openProfile } = await import('../connection/profile.ts')
  const { profile } = await openProfile(profileFlags(typed))
  const silent: Io = { ...io, out: () => {}, err: () => {}, progress: () => {} }
  return contextOf({}, silent, { profile, signal: AbortSignal.timeout(LIMIT_MS) }).client
}

function profileFlags(typed: readonly string[]): ProfileFlags {
  const given = (flag: string): string | undefined => {
    const at = typed.findIndex((word) => word === flag || word.startsWith(`${flag}=`))
    const word = typed[at]
    return word === flag ? typed[at + 1] : word?.slice(flag.length + 1)
  }
  const [apiUrl, instance, profile] = ['--api-url', '--instance', '--profile'].map(given)
  return {
    ...(apiUrl !== undefined && { apiUrl }),
    ...(instance !== undefined && { instance }),
    ...(profile !== undefined && { profile }),
  }
}
