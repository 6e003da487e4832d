// Rights on the calendar of a mailbox. Its folder is named in the language of its owner ("Kalender"), so it is looked up by its type.
// Exchange shows people by display name here, which two may share: it is asked for one person at a time.

import { z } from 'zod'
import { IF_STILL, type LedgerEffect } from '../../../domain/state/effects.ts'
import { ApiError } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf } from '../entra/entra-directory.ts'
import { FunctionRefused } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { anyList, isSameText, personId, recipientId } from '../parameters.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { readMailbox } from './exchange-mailbox.ts'
import { accessRightsOf, readTrustees, type Trustee } from './exchange-trustee.ts'

/** Roles of Add-MailboxFolderPermission that make sense on a calendar. */
const ROLES = [
  'AvailabilityOnly',
  'LimitedDetails',
  'Reviewer',
  'Contributor',
  'NonEditingAuthor',
  'Author',
  'PublishingAuthor',
  'Editor',
  'PublishingEditor',
  'Owner',
] as const

const taking = z.strictObject({
  Identity: recipientId.describe('Address, id or alias of the mailbox.'),
  User: anyList(personId).describe(
    'Address or object id of each person whose right it is; an empty list does nothing.',
  ),
  IfStill: ifStill,
})
const granting = taking.extend({ AccessRight: z.enum(ROLES).default('Reviewer') })
type Taking = z.infer<typeof taking>
type Granting = z.infer<typeof granting>

const previous = z.array(z.object({ User: z.string(), AccessRight: z.string().nullable() }))
const result = z.object({
  Identity: z.string(),
  User: z.array(z.string()).describe('Those whose right was changed.'),
  Previous: previous.describe('The right of each before; null for none.'),
  Changed: z.boolean(),
})

const permissions = { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] }

async function calendarOf(call: M365Call<Taking>): Promise<string> {
  const { tenant, signal, params } = call
  const guid = textOf((await readMailbox(call, params.Identity, ['Guid'])).Guid)
  const folders = await tenant.exchange.run(
    'Get-MailboxFolderStatistics',
    { Identity: guid, FolderScope: 'Calendar' },
    { signal, select: ['FolderPath', 'FolderType'] },
  )
  const folder = folders.find(({ FolderType }) => isSameText(textOf(FolderType), 'Calendar'))
  const path = textOf(folder?.FolderPath)
  if (path === '')
    throw new FunctionRefused(`The mailbox "${params.Identity}" has no calendar yet. Retry later.`)
  return `${guid}:${path.replaceAll('/', '\\')}`
}

const isNoEntry = (error: unknown): boolean =>
  error instanceof ApiError &&
  (/UserNotFoundInPermissionEntry/i.test(error.code) ||
    /no existing permission entry/i.test(error.message))

const isEntryAlready = (error: unknown): boolean =>
  error instanceof ApiError && /existing permission entry was found/i.test(error.message)

/** Null for a person without an entry of their own. */
async function rightOn(
  { tenant, signal }: M365Call<Taking>,
  folder: string,
  { guid }: Trustee,
): Promise<string | null> {
  const select = ['User', 'AccessRights']
  const given = { Identity: folder, User: guid }
  try {
    const found = await tenant.exchange.run('Get-MailboxFolderPermission', given, {
      signal,
      select,
    })
    return found[0] ? accessRightsOf(found[0]).join(',') : null
  } catch (error) {
    if (isNoEntry(error)) return null
    throw error
  }
}

async function grant(
  { tenant, signal, params }: M365Call<Granting>,
  folder: string,
  { guid }: Trustee,
  before: string | null,
): Promise<void> {
  const given = { Identity: folder, User: guid, AccessRights: [params.AccessRight] }
  const options = { signal, isIdempotent: true }
  const set = () => tenant.exchange.run('Set-MailboxFolderPermission', given, options)
  if (before !== null) await set()
  else
    try {
      await tenant.exchange.run('Add-MailboxFolderPermission', given, options)
    } catch (error) {
      // Added by an earlier sending whose response was lost, or by somebody else a moment ago.
      if (!isEntryAlready(error)) throw error
      await set()
    }
}

interface Right {
  readonly User: string
  readonly AccessRight: string | null
}

/** One call gives everybody the same right back. */
function calendarRights(
  identity: string,
  before: readonly Right[],
  given: string | null,
): LedgerEffect {
  const rights = [...new Set(before.map(({ AccessRight }) => AccessRight))]
  const shown = Object.fromEntries(before.map(({ User, AccessRight }) => [User, AccessRight]))
  if (rights.length > 1)
    return never(identity, `They had different rights before: ${JSON.stringify(shown)}.`)
  const [right = null] = rights
  const still = { [IF_STILL]: { AccessRight: given } }
  const people = { Identity: identity, User: before.map(({ User }) => User), ...still }
  return by({
    target: identity,
    before: shown,
    run: right === null ? 'Remove-ExchangeCalendarPermission' : 'Set-ExchangeCalendarPermission',
    with: right === null ? people : { ...people, AccessRight: right },
  })
}

export const setExchangeCalendarPermission = defineM365Function({
  name: 'Set-ExchangeCalendarPermission',
  description: 'Gives others a right on the calendar of a mailbox, in place of the one they had.',
  parameters: granting,
  result,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['User'],
  undo: 'Remove-ExchangeCalendarPermission, or Set-ExchangeCalendarPermission with the Previous right.',
  undoneBy: ['Remove-ExchangeCalendarPermission', 'Set-ExchangeCalendarPermission'],
  effectOf: whenChanged(({ AccessRight }, { Identity, Previous }) =>
    calendarRights(Identity, Previous, AccessRight),
  ),
  run: async (call: M365Call<Granting>): Promise<z.infer<typeof result>> => {
    const { Identity, AccessRight } = call.params
    const people = await readTrustees(call, call.params.User)
    const folder = await calendarOf(call)
    const done: z.infer<typeof previous> = []
    for (const one of people) {
      const before = await rightOn(call, folder, one)
      if (isSameText(before ?? '', AccessRight)) continue
      requireStill(call.params.IfStill, { AccessRight: before }, one.name)
      await grant(call, folder, one, before)
      done.push({ User: one.name, AccessRight: before })
    }
    return resultOf(Identity, done)
  },
})

const resultOf = (Identity: string, Previous: z.infer<typeof previous>) => ({
  Identity,
  User: Previous.map(({ User }) => User),
  Previous,
  Changed: Previous.length > 0,
})

export const removeExchangeCalendarPermission = defineM365Function({
  name: 'Remove-ExchangeCalendarPermission',
  description: 'Takes the rights on the calendar of a mailbox away from others.',
  parameters: taking,
  result,
  permissions,
  isIdempotent: true,
  effect: 'changes',
  subject: 'exchange',
  people: ['User'],
  undo: 'Set-ExchangeCalendarPermission with the Previous right.',
  undoneBy: ['Set-ExchangeCalendarPermission'],
  effectOf: whenChanged((_, { Identity, Previous }) => calendarRights(Identity, Previous, null)),
  run: async (call: M365Call<Taking>): Promise<z.infer<typeof result>> => {
    const { tenant, signal } = call
    const people = await readTrustees(call, call.params.User)
    const folder = await calendarOf(call)
    const done: z.infer<typeof previous> = []
    for (const one of people) {
      const before = await rightOn(call, folder, one)
      if (before === null) continue
      requireStill(call.params.IfStill, { AccessRight: before }, one.name)
      const given = { Identity: folder, User: one.guid, Confirm: false }
      try {
        const options = { signal, isIdempotent: true }
        await tenant.exchange.run('Remove-MailboxFolderPermission', given, options)
      } catch (error) {
        // An earlier sending removed it and its response was lost.
        if (!isNoEntry(error)) throw error
      }
      done.push({ User: one.name, AccessRight: before })
    }
    return resultOf(call.params.Identity, done)
  },
})
