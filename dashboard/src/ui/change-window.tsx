// What the change window means for a batch now: it waits for it, or somebody has overridden it.
import type { Answer } from '../api/routes.ts'
import { Distance, Time, useNow } from './time.tsx'

type Batch = Answer<'GET /api/batches/{batchId}/summary'>['batch']
type ChangeWindow = Batch['changeWindow']

/** The override that is in force; null when there is none, or it has ended. */
export const overrideOf = (changeWindow: ChangeWindow, now: number) =>
  changeWindow?.override && Date.parse(changeWindow.override.until) > now
    ? changeWindow.override
    : null

/** One sentence, or nothing. */
export function WindowNote({ changeWindow }: { readonly changeWindow: ChangeWindow }) {
  const now = useNow()
  const override = overrideOf(changeWindow, now)
  if (override)
    return (
      <>
        The change window is overridden until <Time at={override.until} /> by {override.by}:{' '}
        {override.reason}.
      </>
    )
  if (changeWindow === null || changeWindow.closedAt === null) return null
  if (changeWindow.opensAt === null)
    return <>Waits for a change window, and none opens within a year.</>
  return (
    <>
      Waits for the change window, which opens <Time at={changeWindow.opensAt} /> (
      <Distance to={changeWindow.opensAt} />
      ).
    </>
  )
}
