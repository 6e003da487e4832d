// Holding at once: the hold is set before anybody is asked for its reason, because people are being cut over meanwhile.
import type { Answer, RequestOf } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { type CommandClient, givenTo } from '../connection/client.ts'
import { type CommandContext, type Flags, textFlag } from '../program/command-context.ts'
import { namedBatch, namedMember } from './batch/named.ts'
import { capital } from './holds-in-force.ts'

/** Where the API has `hold` and `resume`. */
type Place =
  | '/api'
  | '/api/runbooks/{name}'
  | '/api/workers/{workerId}'
  | '/api/batches/{batchId}'
  | '/api/batches/{batchId}/members/{memberId}'
/** A batch answers with the batch. */
type PlaceOfScope = Exclude<Place, '/api/batches/{batchId}'>
type Stopped<P extends Place> = Answer<`POST ${P}/hold`>
type Explained<P extends Place> = Answer<`PUT ${P}/hold`>
type Resumed<P extends Place> = Answer<`POST ${P}/resume`>

/** What a person names: its name, the flags that name it, and what the API does with it. */
export interface Held<P extends Place = Place> {
  readonly name: string
  readonly flags: string
  hold(client: CommandClient, body: { readonly reason?: string }): Promise<Stopped<P>>
  explain(client: CommandClient, reason: string): Promise<Explained<P>>
  resume(
    client: CommandClient,
    body: { readonly reason: string; readonly dryRun: boolean },
  ): Promise<Resumed<P>>
}
export type HeldScope = Held<PlaceOfScope>

type ParamsOf<P extends Place> = RequestOf<`POST ${P}/hold`>['params']

function heldAt<P extends Place>(
  place: P,
  params: ParamsOf<P>,
  { name, flags }: Pick<Held, 'name' | 'flags'>,
): Held<P> {
  return {
    name,
    flags,
    hold: (client, body) =>
      client.call<`POST ${P}/hold`>(`POST ${place}/hold`, givenTo(params, body)),
    explain: (client, reason) =>
      client.call<`PUT ${P}/hold`>(`PUT ${place}/hold`, givenTo(params, { reason })),
    resume: (client, body) =>
      client.call<`POST ${P}/resume`>(`POST ${place}/resume`, givenTo(params, body)),
  }
}

export const heldSystem = (): HeldScope =>
  heldAt('/api', undefined, { name: 'the whole system', flags: '--all' })

export const heldRunbook = (name: string): HeldScope =>
  heldAt('/api/runbooks/{name}', { name }, { name: `runbook ${name}`, flags: `--runbook ${name}` })

export const heldWorker = (id: string): HeldScope =>
  heldAt(
    '/api/workers/{workerId}',
    { workerId: id },
    { name: `worker ${id}`, flags: `--worker ${id}` },
  )

export const heldMember = async (
  context: CommandContext,
  batchId: string | undefined,
  member: string,
): Promise<HeldScope> =>
  heldAt('/api/batches/{batchId}/members/{memberId}', await namedMember(context, batchId, member), {
    name: `member ${member} of batch ${batchId}`,
    flags: `--member ${batchId} ${member}`,
  })

export function heldBatch(id: string | undefined): Held<'/api/batches/{batchId}'> {
  const params = namedBatch(id)
  const said = { name: `batch ${params.batchId}`, flags: `--batch ${params.batchId}` }
  return heldAt('/api/batches/{batchId}', params, said)
}

/**
 * `--reason mail bounces`: a reason without quotes is several words for the shell. A hold is never refused for that: the words are its
 * reason.
 */
export function withWholeReason(words: readonly string[], flags: Flags) {
  const [first, ...more] = words
  const isAction = first === 'list' || first === 'reason'
  const rest = isAction ? more : words
  const reason = textFlag(flags, 'reason')
  if (reason === undefined || rest.length === 0) return { action: first, flags }
  const whole = [reason, ...rest].join(' ')
  return { action: isAction ? first : undefined, flags: { ...flags, reason: whole } }
}

/** Holds at once, says what stopped, then asks for the reason. Returns the last answer. */
export async function holdThenAsk<P extends Place>(
  { client, io, show, flags }: CommandContext,
  held: Held<P>,
): Promise<Stopped<P>> {
  const reason = textFlag(flags, 'reason')
  const stopped = await held.hold(client, reason === undefined ? {} : { reason })
  show.say(printable(`${capital(held.name)} is held. ${stoppedText(stopped)}`))
  if (reason !== undefined || !io.canAsk) return stopped
  const given = await io.ask('Reason: ')
  if (given.trim() === '') {
    io.err(
      printable(
        `${capital(held.name)} stays held without a reason. Give one with: matoolkit hold reason ${held.flags} --reason <text>`,
      ),
    )
    return stopped
  }
  return { ...stopped, ...(await held.explain(client, given)) }
}

function stoppedText({
  withdrawnJobs: withdrawn,
  runningJobs: running,
}: Pick<Stopped<Place>, 'withdrawnJobs' | 'runningJobs'>): string {
  if (withdrawn + running === 0) return 'Nothing new is sent; no job was waiting or running.'
  const taken =
    running === 0
      ? 'no job is running'
      : `${countText(running, 'job is', 'jobs are')} running and ${running === 1 ? 'finishes' : 'finish'}`
  const back =
    withdrawn === 0
      ? 'no job was waiting'
      : `${countText(withdrawn, 'job was', 'jobs were')} withdrawn`
  return `Nothing new is sent: ${back}, ${taken}.`
}
