// How changes of many members are named: as the button that began them.
import { CHANGES, type MembersChange } from '../../members/changes.ts'

/** `members.retry` is Retry. */
export function actionWord(action: string): string {
  const name = action.replace(/^members\./, '')
  return CHANGES[name as MembersChange]?.verb ?? name
}

/** The filters of the selection; of named people only how many. */
export const selectionText = (selection: unknown): string =>
  Object.entries((selection ?? {}) as Record<string, unknown>)
    .map(([name, value]) => (name === 'all' ? 'everyone' : `${name}: ${String(value)}`))
    .join(', ')
