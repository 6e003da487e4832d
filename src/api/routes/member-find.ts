// One person over all batches, by key, by an old or new address, or by any other value of their data.
import { z } from 'zod'
import type { Db, Queryable } from '../../db/connection/db.ts'
import {
  type FoundMember,
  findPeopleByAddress,
  findPeopleByBeginning,
  findPeopleByKey,
} from '../../db/views/find-members.ts'
import { soleAddress } from '../../domain/state/member-addresses.ts'
import { BATCH_STATUSES } from '../../domain/state/transitions.ts'
import { read, type Services } from '../route.ts'
import type { TextSearch } from '../services/text-search.ts'
import { loadBatchState } from '../shapes/batch-state.ts'
import { nullableDateTime, searchText } from '../shapes/shapes.ts'
import { isHelpDeskOnly } from '../sign-in/sign-in.ts'
import { loadShownMembers, memberLine } from './members.ts'

const FOUND_MAX = 20
/** A shorter part of an address names nobody. */
const NEAR_CHARS_MIN = 3

const HOW = ['key', 'address', 'text', 'near'] as const

const foundMembers = z
  .strictObject({
    how: z.enum(HOW).nullable().meta({
      description:
        '`key`: the text is their key. `address`: it is or was one of their addresses. `text`: it is part of their key or data. `near`: only its beginning is.',
    }),
    isComplete: z.boolean().meta({ description: `False when there are more than ${FOUND_MAX}.` }),
    members: z.array(
      z.strictObject({
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
      }),
    ),
  })
  .meta({ id: 'FoundMembers' })

const findRoute = read({
  method: 'GET',
  path: '/api/members',
  operation: 'findMembers',
  limits: 'searches',
  tag: 'members',
  summary: 'Find a person over all batches by key, address or another value of their data',
  about:
    'Newest batch first. An address is found whole or by its beginning, any other text anywhere in keys and data. If nobody has it, those who have its beginning are near misses. With the role HelpDesk alone only a whole key or address finds anybody.',
  rule: 'help-desk',
  isPersonal: true,
  query: z.strictObject({ text: searchText.meta({ description: 'Key, address or other value.' }) }),
  answers: { 200: foundMembers },
  handle: async ({ engine: { db }, query: { text }, services: { textSearch }, by }) => {
    const { how, found } = await find({ db, textSearch }, text.trim(), isHelpDeskOnly(by))
    const members = await shownIn(db, found.slice(0, FOUND_MAX))
    return { status: 200, body: { how, isComplete: found.length <= FOUND_MAX, members } }
  },
})

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
): Promise<z.input<typeof foundMembers>['members']> {
  const shown = new Map<number, z.input<typeof foundMembers>['members'][number]>()
  for (const batchId of new Set(found.map((one) => one.batchId))) {
    const state = await loadBatchState(db, batchId)
    const { id, runbookName, status, batchStartTime } = state.line
    const next = state.phases.find((phase) => phase.status === 'pending')
    const nextPhase = next ? { phaseName: next.name, dueAt: next.dueAt } : null
    const ids = found.filter((one) => one.batchId === batchId).map((one) => one.id)
    for (const member of await loadShownMembers(db, state, ids)) {
      const batch = { id, runbookName, status, batchStartTime }
      shown.set(member.id, { batch, nextPhase, member })
    }
  }
  return found.flatMap(({ id }) => shown.get(id) ?? [])
}

export const MEMBER_FIND_ROUTES = [findRoute]
