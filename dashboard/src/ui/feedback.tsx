// What stands where data will be, would be or could not be: loading, empty, error.
import { Component, type ReactNode } from 'react'
import { ApiError } from '../api/call.ts'
import { Button } from './button.tsx'

export function Loading({ what, lines = 6 }: { readonly what: string; readonly lines?: number }) {
  return (
    <div className="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: grey bars without a state
        <span key={line} className="bar" aria-hidden="true" />
      ))}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  /** What to do about it. */
  readonly children?: ReactNode
}
export const Empty = ({ title, children }: EmptyProps) => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
)

const sentenceOf = (error: Error): string =>
  error instanceof ApiError && error.status === 0
    ? 'The API does not answer. What you see may be out of date.'
    : error.message

interface ErrorNoteProps {
  readonly error: Error
  readonly onRetry?: (() => void) | undefined
}
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  // A refusal says itself what to do; the log has more only about what should not have happened.
  const requestId = error instanceof ApiError && error.status >= 500 ? error.requestId : null
  const faults = error instanceof ApiError ? error.faults : []
  return (
    <div className="error" role="alert">
      <p>{sentenceOf(error)}</p>
      {faults.length > 0 && (
        <ul>
          {faults.map(({ path, line, row, column, message }) => (
            <li key={`${path} ${line ?? row} ${column} ${message}`}>
              {row !== undefined && `Row ${row}${column ? `, column ${column}` : ''}: `}
              {line !== undefined && `Line ${line}, column ${column}: `}
              {row === undefined && line === undefined && path && <code>{path} </code>}
              {message}
            </li>
          ))}
        </ul>
      )}
      {requestId !== null && (
        <p className="quiet">Request {requestId}: the log of the API has more.</p>
      )}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

interface Reading<T> {
  readonly data: T | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}
interface LoadedProps<T> {
  readonly reading: Reading<T>
  readonly what: string
  readonly children: (data: T) => ReactNode
}
/** The data, else why not. Data that could not be read again stays, under a note. */
export function Loaded<T>({ reading: { data, error, refetch }, what, children }: LoadedProps<T>) {
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined ? children(data) : !error && <Loading what={what} />}
    </>
  )
}

/** A fault in one screen leaves the navigation usable. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly error: Error | null }
> {
  override state: { readonly error: Error | null } = { error: null }
  static getDerivedStateFromError = (error: Error) => ({ error })
  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return <ErrorNote error={error} onRetry={() => this.setState({ error: null })} />
  }
}
