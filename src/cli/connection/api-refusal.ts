// A refusal by the API as an error: its sentence and code, every fault it lists, and the exit code of the error code, or of the HTTP
// status if this version does not know the code.
import type { AdminApiError, Fault } from '../../api/client/client.ts'
import { ERRORS, EXIT } from '../../base/errors/errors.ts'

export class ApiRefusal extends Error {
  override readonly name = 'Refusal'
  readonly code: string
  readonly status: number
  readonly exitCode: number
  /** One line per fault, and advice. */
  readonly more: string[]

  constructor(refusal: AdminApiError) {
    const { code, status, message: detail, faults, faultCount, details } = refusal
    super(detail, { cause: refusal })
    this.code = code
    this.status = status
    this.exitCode = exitOf(code, status)
    const unlisted = faultCount - faults.length
    // "more than 1,000": the API stopped counting.
    const least = typeof details.count === 'string' ? 'at least ' : ''
    const [first] = faults
    // The sentence already names the first fault; a single one is not repeated.
    const isInSentence = faultCount === 1 && first !== undefined && detail.includes(first.message)
    this.more = [
      ...(isInSentence ? [] : faults.map(lineOf)),
      ...(unlisted > 0 ? [`… and ${least}${unlisted} more`] : []),
      ...(status === 401 ? ['Run: matoolkit auth login'] : []),
    ]
  }
}

const EXIT_BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.notSignedIn,
  403: EXIT.notAllowed,
  404: EXIT.notFound,
  409: EXIT.conflict,
  412: EXIT.conflict,
  429: EXIT.unavailable,
  503: EXIT.unavailable,
}

const exitOf = (code: string, status: number): number =>
  code in ERRORS
    ? ERRORS[code as keyof typeof ERRORS].exit
    : (EXIT_BY_STATUS[status] ?? EXIT.failed)

function lineOf({ row, line, column, code, severity, message }: Fault): string {
  const parts = [
    row === undefined ? '' : `row ${row}`,
    line === undefined ? '' : `line ${line}`,
    column === undefined ? '' : `column ${column}`,
  ]
  const place = parts.filter(Boolean).join(', ')
  const kind = [severity, code].filter(Boolean).join(' ')
  return [place, kind, message].filter(Boolean).join(': ')
}
