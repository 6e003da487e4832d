// Names of cmdlets: an approved verb for each verb of the API, and the noun with the prefix Mat, in the singular.

/** By the first word of an operation. */
const VERBS: Readonly<Record<string, string>> = {
  list: 'Get',
  get: 'Get',
  find: 'Find',
  create: 'New',
  add: 'Add',
  publish: 'Publish',
  deactivate: 'Disable',
  set: 'Set',
  give: 'Set',
  preview: 'Test',
  test: 'Test',
  verify: 'Test',
  begin: 'Start',
  delete: 'Remove',
  remove: 'Remove',
  advance: 'Step',
  decide: 'Submit',
  cancel: 'Stop',
  hold: 'Suspend',
  resume: 'Resume',
  restart: 'Restart',
  retry: 'Restart',
  skip: 'Skip',
  readd: 'Restore',
  move: 'Move',
  roll: 'Undo',
  undo: 'Undo',
  clone: 'Copy',
  reschedule: 'Update',
  rotate: 'Update',
  revoke: 'Revoke',
  approve: 'Approve',
  note: 'Register',
}

/** Where the words of the operation would mislead. */
const NAMES: Readonly<Record<string, string>> = {
  planRunbook: 'Get-MatRunbookPlan',
  tickNow: 'Invoke-MatSourceTick',
  rollBackMembers: 'Undo-MatMemberStep',
  skipMembers: 'Skip-MatMemberStep',
  listRanAfterBackup: 'Get-MatJobAfterBackup',
  previewQuery: 'Test-MatRunbookQuery',
  getMe: 'Get-MatIdentity',
}

const singular = (noun: string): string =>
  noun
    .replace(/(ch|sh|x)es$/, '$1')
    .replace(/ies$/, 'y')
    .replace(/(?<![su])s$/, '')

/** An unknown verb of the API is one of Invoke, so that a new endpoint is never left out. */
export const ownName = (operation: string): string =>
  `Invoke-Mat${operation.charAt(0).toUpperCase()}${operation.slice(1)}`

export function cmdletName(operation: string): string {
  const given = NAMES[operation]
  if (given !== undefined) return given
  const [verb, ...words] = operation.split(/(?=[A-Z])/)
  const approved = VERBS[verb!]
  if (approved === undefined) return ownName(operation)
  const noun = (verb === 'give' ? [...words.slice(2), 'Reason'] : words).join('')
  return `${approved}-Mat${singular(noun)}`
}
