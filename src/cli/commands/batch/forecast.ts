// `matoolkit batch get --forecast`: when each phase ends, with what certainty, what that rests on, and what will be late.
import type { Answer } from '../../../api/client/endpoints.ts'
import { printable } from '../../../base/text/printable.ts'
import type { CommandContext } from '../../program/command-context.ts'
import { inViewersZone } from '../../terminal/io.ts'
import type { Column } from '../../terminal/show.ts'
import { namedBatch } from './named.ts'

type PhaseForecast = Answer<'GET /api/batches/{batchId}/summary'>['estimate']['phases'][number]

const PHASES: readonly Column<PhaseForecast>[] = [
  ['PHASE', 'phaseName'],
  ['STARTS', 'startsAt'],
  ['P50', 'endsAt'],
  ['P90', 'p90'],
  ['FROM', ({ source }) => source && SOURCES[source]],
  ['BECAUSE', 'because', 'whole'],
]

const SOURCES: Readonly<Record<NonNullable<PhaseForecast['source']>, string>> = {
  pace: 'its pace',
  other_phases: 'pace of other phases',
  rehearsal: 'rehearsal',
  no_steps: 'no steps',
}

export async function runForecast(
  { client, show, io }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const params = namedBatch(id)
  const { estimate: whole } = await client.call('GET /api/batches/{batchId}/summary', { params })
  const { phases } = whole
  const empty = `Every phase of batch ${id} has ended.`
  await show.list({ whole, rows: phases, columns: PHASES, empty })
  if (show.format !== 'table') return
  const { endsAt, p90, because } = whole
  const ends =
    endsAt === null
      ? `No forecast for the batch: ${because}.`
      : `The batch ends about ${endsAt}, latest ${p90}: ${because}.`
  show.say(printable(inViewersZone(io, `\n${ends}`)))
  for (const { miss } of phases)
    if (miss) show.say(printable(inViewersZone(io, `${capital(miss.text)}.`)), 'red')
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
