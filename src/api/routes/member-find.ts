// People over all batches: one of them by key, by an old or new address, or by any other value of their data; or all by state.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Db, Queryable } from '../../db/connection/db.ts'
import {
  type FoundMember,
  findPeopleByAddress,
  findPeopleByBeginning,
  findPeopleByKey,
} from '../../db/views/find-members.ts'
import { loadPeopleData, type PeopleFilter } from '../../db/views/people.ts'
import { soleAddress } from '../../domain/state/member-addresses.ts'
import { personColumns } from '../../domain/state/person-columns.ts'
import { PERSON_STATES } from '../../domain/state/person-state.ts'
import { BATCH_STATUSES } from '../../domain/state/transitions.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read, type Services } from '../route.ts'
import { peopleOfWaves } from '../services/people-of-waves.ts'
import type { TextSearch } from '../services/text-search.ts'
import { loadBatchState } from '../shapes/batch-state.ts'
import {
  booleanText,
  commaSeparated,
  nameText,
  nullableDateTime,
  nullableText,
  pagingQuery,
  searchText,
  wholeCount,
} from '../shapes/shapes.ts'
import { isHelpDeskOnly } from '../sign-in/sign-in.ts'
import { loadShownMembers, memberLine } from './members.ts'

const FOUND_MAX = 20
/** A shorter part of an address names nobody. */
const NEAR_CHARS_MIN = 3

const HOW = ['key', 'address', 'text', 'near'] as const

const LIST_NEEDS = 'the role Reader or Admin to list people; name one by key or address'

const foundMembers = z
  .strictObject({
    how: z.enum(HOW).nullable().meta({
      description:
        'Null without a text. `key`: the text is their key. `address`: it is or was one of their addresses. `text`: it is part of their key or data. `near`: only its beginning is.',
    }),
    isComplete: z.boolean().meta({ description: `False when there are more than ${FOUND_MAX}.` }),
    members: z.array(
      z.strictObject({
        name: nullableText.meta({
          description: 'In the data source: DisplayName, FullName, Name, or first and last name.',
        }),
        department: nullableText.meta({ description: 'In the data source: Department or Dept.' }),
        batch: z.strictObject({
          id: z.int(),
          runbookName: z.string(),
          status: z.enum(BATCH_STATUSES),
          batchStartTime: nullableDateTime,
        }),
        nextPhase: z
          .strictObject({ phaseName: z.string(), dueAt: nullableDateTime })
          .nullable()
          .meta({ description: 'The next phase of the batch that has not started.' }),
        member: memberLine,
        reference: nullableText.meta({
          description:
            'What the person’s page asks of callers with the role HelpDesk alone; null for others.',
        }),
      }),
    ),
    total: wholeCount,
    isTotalExact: z.boolean().meta({ description: 'False when `total` is a lower bound.' }),
    next: nullableText.meta({ description: 'The cursor of the next page; null on the last.' }),
  })
  .meta({ id: 'FoundMembers' })

const findRoute = read({
  method: 'GET',
  path: '/api/members',
  operation: 'findMembers',
  limits: 'searches',
  tag: 'members',
  summary: 'Find people over all batches by key, address, another value or state',
  about:
    'With a text, newest batch first. An address is found whole or by its beginning, any other text anywhere in keys and data. If no one has it, people whose value begins with it are near misses. With the role HelpDesk alone only a whole key or address finds anybody, 240 times an hour. Without a text everybody, batch by batch and page by page. With `notCutOver` who has still to be cut over, each once: who failed in one batch and is in a later one of the runbook is listed there.',
  rule: 'help-desk',
  isPersonal: true,
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    text: searchText.optional().meta({ description: 'Key, address or other value.' }),
    state: commaSeparated(PERSON_STATES).optional(),
    notCutOver: booleanText
      .optional()
      .meta({ description: 'Only people who have still to be cut over.' }),
    runbook: nameText.optional(),
  }),
  answers: { 200: foundMembers },
  handle: async ({ engine: { db }, query, services: { textSearch, lookUps }, by, now }) => {
    lookUps.count(by, now)
    const { text, limit, cursor, runbook, state, notCutOver } = query
    const filter = { state, isNotCutOver: notCutOver }
    if (text === undefined) {
      if (isHelpDeskOnly(by)) throw new MatoolkitError('NOT_ALLOWED', { what: LIST_NEEDS })
      const { rows, ...page } = await pageOfPeople(db, runbook, filter, limit, cursor)
      const members = await shownIn(db, rows, null)
      return { status: 200, body: { how: null, isComplete: page.next === null, members, ...page } }
    }
    const { how, found } = await find({ db, textSearch }, text.trim(), isHelpDeskOnly(by))
    const isComplete = found.length <= FOUND_MAX
    const first = found.slice(0, FOUND_MAX)
    const hasFilter = [state, notCutOver, runbook].some((one) => one !== undefined)
    const fit = hasFilter ? await onlyFit(db, first, runbook, filter) : first
    const members = await shownIn(db, fit, await lookUps.referrer(by, now))
    const page = { total: members.length, isTotalExact: isComplete, next: null }
    return { status: 200, body: { how, isComplete, members, ...page } }
  },
})

/** In the order they were found. */
async function onlyFit(
  db: Queryable,
  found: readonly FoundMember[],
  runbook: string | undefined,
  filter: PeopleFilter,
): Promise<FoundMember[]> {
  const ids = found.map(({ id }) => id)
  const fit = await peopleOfWaves(db, runbook, { ...filter, ids }, null, FOUND_MAX)
  const isFit = new Set(fit.map(({ id }) => id))
  return found.filter(({ id }) => isFit.has(id))
}

const SORT = 'wave'
const COUNT_MAX = 1_000

async function pageOfPeople(
  db: Queryable,
  runbook: string | undefined,
  filter: PeopleFilter,
  limit: number,
  cursor: string | undefined,
) {
  const from = readCursor(SORT, cursor, (value) => /^\d{1,15}$/.test(value))
  const after = from && { batchId: Number(from.value), id: from.id }
  const found = await peopleOfWaves(db, runbook, filter, after, limit + 1)
  const at = ({ batchId, id }: FoundMember) => ({ value: String(batchId), id })
  const page = pageFrom(found, limit, SORT, at)
  const { length: total } = await peopleOfWaves(db, runbook, filter, null, COUNT_MAX)
  return { ...page, total, isTotalExact: total < COUNT_MAX }
}

interface Searching extends Pick<Services, 'textSearch'> {
  readonly db: Db
}
type Search = (db: Db, text: string, limit: number) => Promise<FoundMember[]>
type Way = readonly [(typeof HOW)[number], Search, string]

interface Found {
  readonly how: (typeof HOW)[number] | null
  readonly found: readonly FoundMember[]
}

/** The ways to find somebody, best first; the first that finds anybody counts. */
async function find(
  { db, textSearch }: Searching,
  text: string,
  isWholeOnly: boolean,
): Promise<Found> {
  const address = soleAddress(text)
  const ways: Way[] = [
    ['key', findPeopleByKey, text],
    ...(address === undefined ? waysByText(text, textSearch) : waysByAddress(address)),
  ]
  for (const [how, search, what] of ways) {
    if (isWholeOnly && how !== 'key' && how !== 'address') continue
    if (how === 'near' && what.length < NEAR_CHARS_MIN) continue
    const found = await search(db, what, FOUND_MAX + 1)
    if (found.length > 0) return { how, found }
  }
  return { how: null, found: [] }
}

const waysByAddress = (address: string): Way[] => [
  ['address', findPeopleByAddress, address],
  ['text', findPeopleByBeginning, address],
  ['near', findPeopleByBeginning, beginningOf(address)],
]

function waysByText(text: string, textSearch: TextSearch): Way[] {
  const search: Search = (db, part, limit) => textSearch.find(db, part, limit)
  return [
    ['text', search, text],
    ['near', search, beginningOf(text)],
  ]
}

/** What stands before the sign of an address, else the first half. */
function beginningOf(text: string): string {
  const [local = ''] = text.split('@')
  return local.length < text.length ? local : local.slice(0, Math.ceil(local.length / 2))
}

/** In the order they were found, each with its batch. */
async function shownIn(
  db: Queryable,
  found: readonly FoundMember[],
  refer: ((memberId: number) => string) | null,
): Promise<z.input<typeof foundMembers>['members']> {
  const data = await loadPeopleData(
    db,
    found.map(({ id }) => id),
  )
  const shown = new Map<number, z.input<typeof foundMembers>['members'][number]>()
  for (const batchId of new Set(found.map((one) => one.batchId))) {
    const state = await loadBatchState(db, batchId)
    const { id, runbookName, status, batchStartTime } = state.line
    const next = state.phases.find((phase) => phase.status === 'pending')
    const nextPhase = next ? { phaseName: next.name, dueAt: next.dueAt } : null
    const ids = found.filter((one) => one.batchId === batchId).map((one) => one.id)
    for (const member of await loadShownMembers(db, state, ids)) {
      const batch = { id, runbookName, status, batchStartTime }
      const reference = refer?.(member.id) ?? null
      const person = personColumns(data.get(member.id)!)
      shown.set(member.id, { ...person, batch, nextPhase, member, reference })
    }
  }
  return found.flatMap(({ id }) => shown.get(id) ?? [])
}

export const MEMBER_FIND_ROUTES = [findRoute]
