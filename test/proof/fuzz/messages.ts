// Messages of the bus: mutated ones of every type are read without an exception, and a whole system that gets them, among good ones,
// loses nothing: each is handled or dead-lettered, nothing throws, every invariant holds, and the batch ends.
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReceivedMessage } from '../../../src/bus/bus.ts'
import { MESSAGE_TYPES, readMessage } from '../../../src/domain/messages/messages.ts'
import { handleChunk } from '../../../src/orchestrator/orchestrator.ts'
import { wave } from '../../api/contract/fixtures.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { openRenewablePglite } from '../../kit/renewable-pglite.ts'
import { openWorld, type World } from '../../stories/world.ts'
import { HOSTILE_TEXTS, mutatedText, mutatedValue } from './mutate.ts'
import { type FuzzTarget, oneOf, type Random, shown } from './target.ts'

const FIXTURES = join(import.meta.dirname, '../../fixtures/messages')
const MEMBERS = 6
const ROUNDS = 12
const PER_ROUND = 15
/** A reason is a line in a list. */
const REASON_CHARS_MAX = 5_000
const ENDED = new Set(['completed', 'failed', 'cancelled'])
const LONG_SEC = 3 * 24 * 3_600

interface Example {
  readonly type: string
  readonly text: string
}

export async function openMessages(): Promise<FuzzTarget> {
  const db = await openRenewablePglite()
  const examples = readdirSync(FIXTURES).map(
    (file): Example => ({
      type: MESSAGE_TYPES.find((type) => file.startsWith(type))!,
      text: readFileSync(join(FIXTURES, file), 'utf8'),
    }),
  )
  return {
    attempt: async (random) => {
      await db.renew()
      const world = await openWorld({ database: { db, close: async () => {} } })
      try {
        return await disturb(world, random, examples)
      } finally {
        await world.bus.close()
      }
    },
    close: () => db.close(),
  }
}

async function disturb(
  world: World,
  random: Random,
  examples: readonly Example[],
): Promise<string[]> {
  await world.publish(wave())
  world.answer = () => (random(6) === 0 ? { fail: 'no' } : { ok: { id: random(9) } })
  const members = Array.from({ length: MEMBERS }, (_, n) => ({
    key: `user${n}@x.example`,
    data: {
      UserPrincipalName: `user${n}@x.example`,
      Action: 'Do-It',
      Site: 's',
      Office: 'o',
      Aliases: ['a'],
    },
  }))
  const batchId = await world.batch('wave', members, { startsInMin: 2 * 24 * 60 })
  const findings: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await world.orchestrate()
    if (random(3) > 0) await world.work(1 + random(4))
    const sent = Array.from({ length: PER_ROUND }, () => messageFor(random, world, examples))
    findings.push(...sent.flatMap(readFindings))
    const outcomes = await handleChunk(world.engine, sent)
    const missing = sent.filter((_, index) => outcomes[index] === undefined)
    findings.push(...missing.map(({ body }) => `no verdict\n${shown(body)}`))
    const broken = await brokenInvariants(world.db, world.clock.now())
    if (broken.length > 0) return [...findings, `${broken.join('\n')}\n${shown(bodiesOf(sent))}`]
    await world.pass(60 * random(12 * 60))
  }
  return [...findings, ...(await endFindings(world, batchId))]
}

const bodiesOf = (sent: readonly ReceivedMessage[]): string =>
  JSON.stringify(sent.map(({ body }) => body))

/** Nothing that anybody sends may keep the batch from its end. */
async function endFindings(world: World, batchId: number): Promise<string[]> {
  await world.pass(LONG_SEC)
  await world.pass(LONG_SEC)
  const rows = await world.db.query<{ status: string }>(
    'select status from batches where id = $1',
    [batchId],
  )
  const status = rows[0]!.status
  return ENDED.has(status) ? [] : [`the batch is ${status} in the end`]
}

function readFindings({ type, body }: ReceivedMessage): string[] {
  const read = readMessage(type, body)
  if (read.ok || (read.reason.length > 0 && read.reason.length < REASON_CHARS_MAX)) return []
  return [`a reason of ${read.reason.length} characters\n${shown(body)}`]
}

/** A mutated example, or a message about a job and a batch that exist, with some of it wrong. */
function messageFor(random: Random, world: World, examples: readonly Example[]): ReceivedMessage {
  const { type, text } = oneOf(random, examples)
  const known = random(2) === 0 ? about(random, world, JSON.parse(text)) : JSON.parse(text)
  const body =
    random(4) === 0
      ? mutatedText(random, [JSON.stringify(known), ...examples.map((example) => example.text)])
      : JSON.stringify(random(5) === 0 ? known : mutatedValue(random, known))
  const sender = random(4) === 0 ? { WorkerId: oneOf(random, ['w1', 'w2', ...HOSTILE_TEXTS]) } : {}
  return {
    id: String(random(1_000_000)),
    topic: oneOf(random, ['orchestrator-events', 'worker-results'] as const),
    messageId: randomUUID(),
    type: oneOf(random, [type, type, type, null, oneOf(random, MESSAGE_TYPES), 'unknown']),
    body,
    properties: sender,
  } as unknown as ReceivedMessage
}

function about(random: Random, { jobs }: World, body: Record<string, unknown>): unknown {
  const job = jobs.length > 0 ? oneOf(random, jobs) : null
  const ids = {
    batchId: 1,
    batchMemberId: 1 + random(MEMBERS + 2),
    stepExecutionId: 1 + random(30),
  }
  const numbers = {
    ...ids,
    phaseExecutionId: 1 + random(4),
    runbookName: 'wave',
    runbookVersion: 1,
  }
  const jobId = job?.jobId ?? `step-${1 + random(20)}`
  const all: Record<string, unknown> = { ...numbers, jobId, workerId: 'w1' }
  const entries = Object.entries(body).map(([key, value]): [string, unknown] => {
    const name = key.charAt(0).toLowerCase() + key.slice(1)
    return [key, Object.hasOwn(all, name) ? all[name] : value]
  })
  return Object.fromEntries(entries)
}
