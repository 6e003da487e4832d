// Asks before everything that was changed for a person is taken back.
import { useState } from 'react'
import { MembersDecision } from '../../members/members-decision.tsx'
import { PastNoReturn } from '../../undo/undo-plan.tsx'
import type { Person } from './story.ts'

interface UndoPersonProps {
  readonly person: Person
  readonly onClose: () => void
}
export function UndoPerson({ person: { member }, onClose }: UndoPersonProps) {
  const [pastNoReturn, setPast] = useState(false)
  return (
    <MembersDecision
      change="undo"
      who={member.memberKey}
      targets={[{ batchId: member.batchId, select: { ids: [member.id] } }]}
      more={{ pastNoReturn }}
      onClose={onClose}
    >
      <PastNoReturn isChosen={pastNoReturn} onChoose={setPast} />
    </MembersDecision>
  )
}
