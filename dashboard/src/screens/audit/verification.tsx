// The result of a check of the audit's chain of hashes.
import { useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Time } from '../../ui/time.tsx'

type Verdict = Answer<'GET /api/audit/verification'>

export function Verification({ onClose }: { readonly onClose: () => void }) {
  const reading = useReading('GET /api/audit/verification', {})
  return (
    <Section title="Chain of the audit" actions={<Button onClick={onClose}>Close</Button>}>
      <Loaded reading={reading} what="the verification">
        {(verdict) => <VerdictText verdict={verdict} />}
      </Loaded>
    </Section>
  )
}

function VerdictText({
  verdict: { head, pruned, unsealed, broken },
}: {
  readonly verdict: Verdict
}) {
  return (
    <div role="status">
      {broken === null ? (
        <p>
          <Status status="ok" text="intact" /> {countText(head.sealed)} sealed{' '}
          {head.sealed === 1 ? 'row' : 'rows'}, each as it was written.
        </p>
      ) : (
        <p>
          <Status status="failed" text="broken" /> At seal {broken.sealNumber}
          {broken.id !== null && `, entry ${broken.id}`}: {broken.why}. Find out who can write to
          the database, and compare with a backup.
        </p>
      )}
      {unsealed > 0 && (
        <p className="quiet">
          {countText(unsealed)} newer {unsealed === 1 ? 'row is' : 'rows are'} not sealed yet: that
          takes seconds.
        </p>
      )}
      {pruned && (
        <p className="quiet">
          Rows 1 to {countText(pruned.through)} were pruned <Time at={pruned.at} />.
        </p>
      )}
      <p className="quiet">
        Head <code className="hash">{head.hash}</code>. Keep it elsewhere: a later check against it
        also finds rows cut off at the end.
      </p>
    </div>
  )
}
