// The validator's findings as a list: where, what, and what to do. A click goes to the place in the text.
import type { RunbookProblem } from '../../../../../src/domain/runbook/read.ts'

interface ProblemListProps {
  /** Null before the first check. */
  readonly problems: readonly RunbookProblem[] | null
  readonly onChoose: (problem: RunbookProblem) => void
}

export function ProblemList({ problems, onChoose }: ProblemListProps) {
  return (
    <section className="problem-list" aria-label="Problems">
      <p role="status" className="problem-summary">
        {problems === null ? 'Checking …' : summaryOf(problems)}
      </p>
      {problems !== null && problems.length > 0 && (
        <ul>
          {problems.map((problem) => (
            <li key={`${problem.line} ${problem.column} ${problem.code} ${problem.message}`}>
              <button type="button" onClick={() => onChoose(problem)}>
                <span className="problem-sign" data-look={LOOKS[problem.severity]}>
                  <span aria-hidden="true">{problem.severity === 'error' ? '×' : '!'}</span>{' '}
                  {problem.severity}
                </span>
                <span className="problem-place">
                  {problem.line}:{problem.column}
                </span>
                <span>
                  {problem.message} <code className="quiet">{problem.code}</code>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

const LOOKS = { error: 'bad', warning: 'warn' } as const

function summaryOf(problems: readonly RunbookProblem[]): string {
  if (problems.length === 0) return '✓ No problems.'
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const parts = [
    ...(errors > 0 ? [`${errors} ${errors === 1 ? 'error' : 'errors'}`] : []),
    ...(warnings > 0 ? [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`] : []),
  ]
  const next = errors > 0 ? ' Correct the errors to publish.' : ' Warnings do not stop publishing.'
  return `${parts.join(', ')}.${next}`
}
