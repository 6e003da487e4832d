// One failed step of a group in full: what was called, where, with which parameters. Read when it is opened.
import { useState } from 'react'
import { Link } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { Time } from '../../ui/time.tsx'

interface ExampleProps {
  readonly stepId: number
  readonly batchId: number
  readonly memberId: number | null
}
export function Example(props: ExampleProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="failure-example" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>An example</summary>
      {isOpen && <ExampleBody {...props} />}
    </details>
  )
}

function ExampleBody({ stepId, batchId, memberId }: ExampleProps) {
  const reading = useReading('GET /api/steps/{stepId}', { params: { stepId } })
  return (
    <Loaded reading={reading} what="the example">
      {({ step, attempts }) => (
        <>
          <p>
            {memberId !== null && (
              <>
                <Link href={`/batches/${batchId}/members/${memberId}`}>{step.memberKey}</Link>:{' '}
              </>
            )}
            function <code>{step.functionName ?? '–'}</code> on worker {step.workerId},{' '}
            {attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}, failed{' '}
            <Time at={step.completedAt} />
          </p>
          <pre className="failure-parameters">{JSON.stringify(step.params, null, 2)}</pre>
        </>
      )}
    </Loaded>
  )
}
