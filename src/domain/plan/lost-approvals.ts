// Approvals that a change makes void, in words: people read them before the change, and know who must approve again.

export interface LostApproval {
  readonly batchId: number
  readonly phaseName: string
  readonly approvedBy: string
}

/** A sentence for each gate. `isDone`: the change has happened. */
export function lostApprovalTexts(lost: readonly LostApproval[], isDone = false): string[] {
  const byGate = Map.groupBy(lost, ({ batchId, phaseName }) => `${batchId} ${phaseName}`)
  return [...byGate.values()].map((same) => {
    const { batchId, phaseName } = same[0]!
    const people = same.map(({ approvedBy }) => approvedBy)
    const isOne = people.length === 1
    const become = isDone ? (isOne ? 'is' : 'are') : isOne ? 'becomes' : 'become'
    const who = isOne ? people[0]! : `${people.slice(0, -1).join(', ')} and ${people.at(-1)}`
    return `The ${isOne ? 'approval' : 'approvals'} of ${who} for phase ${phaseName} of batch ${batchId} ${become} void: ${who}, or others, must approve again.`
  })
}
