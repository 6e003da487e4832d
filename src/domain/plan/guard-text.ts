// What guards the start of a phase, in a few words: its gate and its ramp, as a plan and a rehearsal show them.
import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import type { Gate, Ramp } from '../runbook/model.ts'

/** `gate: 2 approvals, 95 % ready` and `ramp: 5 %, 25 %, 100 %; soak 30m; at most 2 % failed`. */
export const guardTexts = ({
  gate,
  ramp,
}: {
  readonly gate: Gate | null
  readonly ramp: Ramp | null
}): string[] => [...(gate ? [gateText(gate)] : []), ...(ramp ? [rampText(ramp)] : [])]

function gateText({ approvals, survives, readyPercent }: Gate): string {
  const ready = readyPercent === null ? '' : `, ${readyPercent} % ready`
  const change = countText(survives, 'person who joins or leaves', 'people who join or leave')
  const till = survives === 0 ? '' : ` good for up to ${change}`
  return `gate: ${countText(approvals, 'approval')}${till}${ready}`
}

function rampText({ percents, soakSec, maxFailedPercent }: Ramp): string {
  const soak = soakSec === 0 ? '' : `; soak ${durationText(soakSec * 1_000)}`
  const limit = maxFailedPercent === null ? '' : `; at most ${maxFailedPercent} % failed`
  return `ramp: ${percents.map((percent) => `${percent} %`).join(', ')}${soak}${limit}`
}
