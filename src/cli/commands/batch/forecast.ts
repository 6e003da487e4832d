// `matoolkit batch forecast`: when each phase ends, with what certainty, what that rests on, and what will be late.
import type { Json } from '../../../base/text/json.ts'
import { printable } from '../../../base/text/printable.ts'
import type { CommandContext } from '../../program/command-context.ts'
import { inViewersZone } from '../../terminal/io.ts'
import { type Column, type Row, rowsIn } from '../../terminal/show.ts'
import type { Verb } from '../verb.ts'
import { batchPath } from './paths.ts'

const PHASES: readonly Column[] = [
  ['PHASE', 'phaseName'],
  ['STARTS', 'startsAt'],
  ['P50', 'endsAt'],
  ['P90', 'p90'],
  ['FROM', ({ source }) => SOURCES[String(source)] ?? null],
  ['BECAUSE', 'because', 'whole'],
]

const SOURCES: Readonly<Record<string, string>> = {
  pace: 'its pace',
  other_phases: 'pace of other phases',
  rehearsal: 'rehearsal',
  no_steps: 'no steps',
}

async function runForecast(
  { client, show, io }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const { body } = await client.get<Row>(`${batchPath(id)}/forecast`)
  const phases = rowsIn(body, 'phases')
  const empty = `Every phase of batch ${id} has ended.`
  await show.list({ whole: body as Json, rows: phases, columns: PHASES, empty })
  if (show.format !== 'table') return
  const { endsAt, p90, because } = body
  const ends =
    endsAt === null
      ? `No forecast for the batch: ${String(because)}.`
      : `The batch ends about ${String(endsAt)}, 90 % sure by ${String(p90)}: ${String(because)}.`
  show.say(printable(inViewersZone(io, `\n${ends}`)))
  for (const { miss } of phases)
    if (miss)
      show.say(printable(inViewersZone(io, `${capital(String((miss as Row).text))}.`)), 'red')
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const FORECAST_VERB: Verb = {
  name: 'forecast',
  about: 'forecast the end of each phase',
  args: [['<id>', 'id of the batch']],
  more: `Half of such nights end by the p50, nine of ten by the p90. Each figure says what it rests on: the pace
of the last 15 minutes, the last rehearsal, or the pace of other phases. Where it would be a guess there is none.

A phase before the cut-over must end before T-0, a later one before the next is due.`,
  examples: ['batch forecast 7', 'batch forecast 7 -o json'],
  run: runForecast,
}
