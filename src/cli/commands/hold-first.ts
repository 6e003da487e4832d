// Holding at once: the hold is set before anybody is asked for its reason, because people are being cut over meanwhile.
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import { type CommandContext, idOf, pathSegment, textFlag } from '../program/command-context.ts'
import type { Row } from '../terminal/show.ts'
import { batchPath } from './batch/paths.ts'
import { capital } from './holds-in-force.ts'

/** What a person names: its path in the API, its name, and the flags that name it. */
export interface Held {
  readonly path: string
  readonly name: string
  readonly flags: string
}

export const heldBatch = (id: string | undefined): Held => ({
  path: batchPath(id),
  name: `batch ${idOf('batch', id)}`,
  flags: `--batch ${idOf('batch', id)}`,
})

export const heldWorker = (id: string): Held => ({
  path: `/api/workers/${pathSegment(id)}`,
  name: `worker ${id}`,
  flags: `--worker ${id}`,
})

/** Holds at once, says what stopped, then asks for the reason. Returns the last answer. */
export async function holdThenAsk(context: CommandContext, held: Held): Promise<Row> {
  const { client, io, show, flags } = context
  const reason = textFlag(flags, 'reason')
  const { body } = await client.post<Row>(`${held.path}/hold`, {
    body: reason === undefined ? {} : { reason },
  })
  show.say(printable(`${capital(held.name)} is held. ${stoppedText(body)}`))
  if (reason !== undefined || !io.canAsk) return body
  const given = await io.ask('Reason: ')
  if (given.trim() === '') {
    io.err(
      printable(
        `${capital(held.name)} stays held without a reason. Give one with: matoolkit hold reason ${held.flags} --reason <text>`,
      ),
    )
    return body
  }
  const said = await client.put<Row>(`${held.path}/hold`, { body: { reason: given } })
  return { ...body, ...said.body }
}

function stoppedText({ withdrawnJobs, runningJobs }: Row): string {
  const withdrawn = Number(withdrawnJobs)
  const running = Number(runningJobs)
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
