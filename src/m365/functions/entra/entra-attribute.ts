// A user's attributes and manager. Only listed attributes can be written: ordinary directory data. Sign-in names, passwords and
// account state have their own functions, which know their side effects.

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { IF_STILL } from '../../../domain/state/effects.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { isAsExpected, isMatch, matchParameters, matchResult, valueAt } from '../attribute-match.ts'
import { defineM365Function } from '../define.ts'
import { FunctionRefused, noUser, orNotFound } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { isSameText, nameParameter, orNothing, userId } from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { changeUser, findUser, objectIdOf, readUser, textOf } from './entra-directory.ts'

/** Holds the 15 extension attributes of every tenant. */
const EXTENSIONS = 'onPremisesExtensionAttributes'

const WRITABLE: readonly string[] = [
  'ageGroup',
  'businessPhones',
  'city',
  'companyName',
  'consentProvidedForMinor',
  'country',
  'department',
  'displayName',
  'employeeHireDate',
  'employeeId',
  'employeeLeaveDateTime',
  'employeeType',
  'faxNumber',
  'givenName',
  'jobTitle',
  'mail',
  'mailNickname',
  'mobilePhone',
  'officeLocation',
  'onPremisesImmutableId',
  'otherMails',
  'postalCode',
  'preferredDataLocation',
  'preferredLanguage',
  'state',
  'streetAddress',
  'surname',
  'usageLocation',
  'userType',
  ...Array.from({ length: 15 }, (_, index) => `${EXTENSIONS}.extensionAttribute${index + 1}`),
]
/** Graph wants a list, also an empty one (user resource type). */
const LISTS: readonly string[] = ['businessPhones', 'otherMails']
const DATES: readonly string[] = ['employeeHireDate', 'employeeLeaveDateTime']
/** Directory extensions, named after the app that defined them. */
const CUSTOM = /^extension_[0-9a-f]{32}_\w+$/i

export const attributeName = nameParameter
  .transform((given) => WRITABLE.find((known) => isSameText(known, given)) ?? given)
  .refine((known) => WRITABLE.includes(known) || CUSTOM.test(known), {
    error: ({ input }) =>
      `"${String(input)}" is not an attribute this function writes: ${WRITABLE.slice(0, -15).join(', ')}, ${EXTENSIONS}.extensionAttribute1 to 15 and extension_…`,
  })

export const attributeValue = z
  .union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())])
  .transform((value) => (value === '' ? null : value))

/** The value in the form that Graph takes for this attribute. */
export function valueFor(name: string, value: z.infer<typeof attributeValue>): Json {
  if (LISTS.includes(name)) return value === null ? [] : [value].flat().map(String)
  if (name === 'usageLocation' && value === null)
    throw new FunctionRefused('usageLocation cannot be cleared. Give a country code such as US.')
  return value
}

/** Graph returns a date with its time, whatever was given. */
export function isSameAttribute(name: string, before: Json, value: Json): boolean {
  if (isDeepStrictEqual(before, value)) return true
  if (!DATES.includes(name) || typeof before !== 'string' || typeof value !== 'string') return false
  return Date.parse(before) === Date.parse(value)
}

const set = z.object({
  UserId: z.string(),
  AttributeName: z.string(),
  Value: z.json(),
  PreviousValue: z.json(),
  Changed: z.boolean(),
})

/** Of a ledger: Graph takes no empty usageLocation. */
export const NO_CLEARING = 'usageLocation cannot be cleared.'

export const setEntraUserAttribute = defineM365Function({
  name: 'Set-EntraUserAttribute',
  description:
    'Sets or clears one attribute of a user. employeeLeaveDateTime also needs User-LifeCycleInfo.ReadWrite.All; mail of a mail user or mailbox belongs to Exchange.',
  parameters: z.strictObject({
    UserId: userId,
    AttributeName: attributeName.describe(
      'Such as department, usageLocation, mail or onPremisesExtensionAttributes.extensionAttribute1.',
    ),
    Value: attributeValue.describe(
      'Null or empty clears the attribute. businessPhones and otherMails take one value or a list.',
    ),
    IfStill: ifStill,
  }),
  result: set,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Set-EntraUserAttribute with the PreviousValue.',
  undoneBy: ['Set-EntraUserAttribute'],
  effectOf: whenChanged((_, result) => {
    const { UserId, AttributeName, Value, PreviousValue } = result
    if (AttributeName === 'usageLocation' && PreviousValue === null)
      return never(UserId, NO_CLEARING)
    return by({
      target: UserId,
      before: { [AttributeName]: PreviousValue },
      run: 'Set-EntraUserAttribute',
      with: { UserId, AttributeName, Value: PreviousValue, [IF_STILL]: { Value } },
    })
  }),
  run: async (call): Promise<z.infer<typeof set>> => {
    const { UserId, AttributeName } = call.params
    const Value = valueFor(AttributeName, call.params.Value)
    const path = AttributeName.split('.')
    const user = await readUser(call, UserId, ['id', path[0]!])
    const id = textOf(user.id)
    const before = valueAt(user, path)
    const isChange = !isSameAttribute(AttributeName, before, Value)
    if (isChange) {
      const isSame = (one: Json, other: Json) => isSameAttribute(AttributeName, other, one)
      requireStill(call.params.IfStill, { Value: before }, id, isSame)
      const change: JsonObject = path[1]
        ? { [path[0]!]: { [path[1]]: Value } }
        : { [path[0]!]: Value }
      await changeUser(call, id, change)
    }
    return { UserId: id, AttributeName, Value, PreviousValue: before, Changed: isChange }
  },
})

export const testEntraAttributeMatch = defineM365Function({
  name: 'Test-EntraAttributeMatch',
  description: 'Tests whether an attribute of a user has a value.',
  parameters: z.strictObject({ UserId: userId, ...matchParameters }),
  result: matchResult('UserId'),
  permissions: { graph: ['User.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'entra',
  undo: null,
  run: async (call) => {
    const { UserId, AttributeName, ExpectedValue, IsMultiValue } = call.params
    const path = AttributeName.split('.')
    // Graph returns nested attributes only with their parent.
    const look = () => findUser(call, UserId, [path[0]!])
    const user = await retryUntilFound(onceIfPolled(call), look)
    const current: Json = user && valueAt(user, path)
    const isMatching = user !== null && isMatch(current, ExpectedValue, IsMultiValue)
    return {
      complete: user !== null && isAsExpected(current, call.params),
      data: {
        Match: isMatching,
        AttributeName,
        CurrentValue: current,
        ExpectedValue,
        UserId,
        IsMultiValue,
        Reason: user === null ? noUser(UserId).message : null,
      },
    }
  },
})

const managed = z.object({
  UserId: z.string(),
  ManagerId: z.string().nullable(),
  PreviousManagerId: z.string().nullable(),
  PreviousIsKnown: z.boolean().describe('False where apps may not read the manager.'),
  Changed: z.boolean(),
})

export const setEntraUserManager = defineM365Function({
  name: 'Set-EntraUserManager',
  description: 'Makes one user the manager of another, or removes the manager.',
  parameters: z.strictObject({
    UserId: userId,
    ManagerId: orNothing(userId).describe(
      'Object id or user principal name. Null or empty removes the manager.',
    ),
    IfStill: ifStill,
  }),
  result: managed,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  people: ['ManagerId'],
  undo: 'Set-EntraUserManager with the PreviousManagerId.',
  undoneBy: ['Set-EntraUserManager'],
  effectOf: whenChanged((_, result) => {
    const { UserId, ManagerId, PreviousManagerId, PreviousIsKnown } = result
    if (!PreviousIsKnown)
      return never(UserId, 'The app may not read the manager, so the previous one is unknown.')
    return by({
      target: UserId,
      before: { ManagerId: PreviousManagerId },
      run: 'Set-EntraUserManager',
      with: { UserId, ManagerId: PreviousManagerId, [IF_STILL]: { ManagerId } },
    })
  }),
  run: async (call): Promise<z.infer<typeof managed>> => {
    const { UserId, ManagerId } = call.params
    const id = textOf((await readUser(call, UserId, ['id'])).id)
    const managerId = ManagerId === null ? null : await objectIdOf(call, ManagerId)
    const before = await managerOf(call, id)
    const isChange = before === undefined || !isSameText(before ?? '', managerId ?? '')
    if (isChange) requireStill(call.params.IfStill, { ManagerId: before ?? null }, id)
    if (isChange && managerId === null) await deleteManagerRef(call, id)
    else if (isChange)
      await orNotFound(() => putManagerRef(call, id, managerId!), noUser(ManagerId!))
    return {
      UserId: id,
      ManagerId: managerId,
      PreviousManagerId: before ?? null,
      PreviousIsKnown: before !== undefined,
      Changed: isChange,
    }
  },
})

const putManagerRef = ({ tenant, signal }: ReplicationContext, id: string, managerId: string) =>
  tenant.graph.call({
    method: 'PUT',
    path: pathOf`/users/${id}/manager/$ref`,
    body: { '@odata.id': tenant.graph.urlOf(pathOf`/users/${managerId}`) },
    signal,
  })

async function deleteManagerRef({ tenant, signal }: ReplicationContext, id: string): Promise<void> {
  try {
    await tenant.graph.call({ method: 'DELETE', path: pathOf`/users/${id}/manager/$ref`, signal })
  } catch (error) {
    // Gone: an earlier response was lost.
    if (!isNotFound(error)) throw error
  }
}

/** Null for a user without a manager; undefined where apps may not read it, as the page of "List manager" says. */
async function managerOf(
  { tenant, signal }: ReplicationContext,
  id: string,
): Promise<string | null | undefined> {
  try {
    const path = pathOf`/users/${id}/manager`
    const query = { $select: 'id' }
    const { body } = await tenant.graph.call({ method: 'GET', path, query, signal })
    return textOf((body as JsonObject).id)
  } catch (error) {
    if (isNotFound(error)) return null
    if (error instanceof ApiError && error.status === 403) return undefined
    throw error
  }
}
