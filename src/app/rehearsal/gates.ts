// The gates of a rehearsal: nobody is there to approve, so the rehearsal does it at the time at which the night would have waited, and
// the report names what was missing.
import { listHolds } from '../../db/state/holds.ts'
import { HELD_BY_GATE } from '../../domain/state/holds.ts'
import { resumeBatch } from '../../engine/orders/batch-actions.ts'
import { approveGate, readGates, waiveReadiness } from '../../engine/orders/gates.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

const HOLDS_MAX = 500
const WAIVED_MS = 24 * 3_600_000
const REASON = 'rehearsal'

export interface WaitAtGate {
  readonly at: string
  readonly what: string
}

/** Opens every gate that holds a batch now. Returns where the night would have waited. `onHeld` is called while they are closed. */
export async function openGates(
  engine: Engine,
  onHeld: () => Promise<void>,
): Promise<WaitAtGate[]> {
  const { holds } = await listHolds(engine.db, { scope: ['batch'] }, null, HOLDS_MAX)
  if (holds.some(({ heldBy }) => heldBy === HELD_BY_GATE)) await onHeld()
  const waits: WaitAtGate[] = []
  for (const { target, heldBy } of holds) {
    if (heldBy !== HELD_BY_GATE) continue
    const batchId = Number(target)
    const { gates } = await readGates(engine, batchId)
    for (const { phase, missing, facts } of gates) {
      if (phase.gateLookAt === null || missing.length === 0) continue
      const now = engine.clock.now()
      waits.push({
        at: now.toISOString(),
        what: `Batch ${batchId} waits at the gate of phase ${phase.name}: ${missing.join('; ')}. The rehearsal opens it.`,
      })
      const order = { batchId, phaseName: phase.name, reason: REASON }
      for (let person = 1; person <= phase.gate!.approvals; person++)
        await approveGate(engine, { ...order, actor: `rehearsed approver ${person}` })
      if (phase.gate!.readyPercent !== null && facts.waiver === null)
        await waiveReadiness(engine, {
          ...order,
          actor: 'rehearsed approver 1',
          endsAt: new Date(+now + WAIVED_MS),
        })
    }
    await resumeBatch(engine, { batchId, actor: REASON, reason: REASON })
  }
  return waits
}
