// The line that marks the point of no return, in lists of what was done and of what is undone.
import './undo.css'

interface NoReturnProps {
  readonly step: string
  /** `above`: the list goes forward in time; `below`: the last change comes first. */
  readonly stays: 'above' | 'below'
}
export const NoReturn = ({ step, stays }: NoReturnProps) => (
  <span className="no-return-text">
    <strong>Point of no return:</strong> {step} cannot be undone. An undo leaves what is {stays},
    unless someone asks for more.
  </span>
)
