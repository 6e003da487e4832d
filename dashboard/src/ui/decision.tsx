// The dialog before every change: what it will do (from a dry run where there is one), the reason for the audit, the confirmation.
import { AlertDialog } from '@base-ui/react/alert-dialog'
import { type ReactNode, use, useState } from 'react'
import { Button } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { ScreenName } from './screen-name.ts'

interface DecisionProps {
  readonly title: string
  /** What will happen, with counts. */
  readonly children: ReactNode
  /** The verb on the button. */
  readonly verb: string
  readonly isDanger?: boolean
  readonly reason: 'required' | 'optional' | 'none'
  readonly isReady?: boolean
  readonly isBusy: boolean
  readonly error: Error | null
  readonly onConfirm: (reason: string) => void
  readonly onClose: () => void
}

export function Decision(props: DecisionProps) {
  const {
    title,
    children,
    verb,
    isDanger,
    isReady = true,
    isBusy,
    error,
    onConfirm,
    onClose,
  } = props
  const screen = use(ScreenName)
  const [reason, setReason] = useState('')
  const isGiven = props.reason !== 'required' || reason.trim() !== ''
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog" data-screen={screen}>
          <AlertDialog.Title>{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />}>{children}</AlertDialog.Description>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              if (isReady && isGiven && !isBusy) onConfirm(reason.trim())
            }}
          >
            {props.reason !== 'none' && (
              <label className="field">
                Reason{props.reason === 'optional' && ' (optional)'}
                <input
                  value={reason}
                  onChange={(event) => setReason(event.target.value)}
                  maxLength={500}
                />
                <span className="quiet">Stands in the audit with your name.</span>
              </label>
            )}
            {error && <ErrorNote error={error} />}
            <div className="dialog-actions">
              <AlertDialog.Close render={<Button />}>Cancel</AlertDialog.Close>
              <Button
                type="submit"
                kind={isDanger ? 'danger' : 'primary'}
                disabled={!isReady || !isGiven || isBusy}
              >
                {isBusy ? 'Working …' : verb}
              </Button>
            </div>
          </form>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
