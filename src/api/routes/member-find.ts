// One person over all batches, by key, by an old or new address, or by any other value of their data.
import { z } from 'zod'
import type { Queryable } from '../../db/db.ts'
import { type FoundMember, findPeopleByKey, findPeopleByText } from '../../db/views/find-members.ts'
import { BATCH_STATUSES } from '../../domain/transitions.ts'
import { loadBatchState } from '../batch-state.ts'
import { type Route, read } from '../route.ts'
import { nullableDateTime, searchText } from '../shapes.ts'
import { loadShownMembers, memberLine } from './members.ts'

const FOUND_MAX = 20
/** A shorter part of an address names nobody. */
const NEAR_CHARS_MIN = 3

const HOW = ['key', 'text', 'near'] as const

const foundMembers = z
  .strictObject({
    how: z.enum(HOW).nullable().meta({
      description:
        '`key`: the text is their key. `text`: it is part of their key or data. `near`: only its beginning is.',
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
  tag: 'members',
  summary: 'Find a person over all batches by key, address or another value of their data',
  about:
    'Newest batch first. If nobody has the text, those whose key or data has its beginning are near misses.',
  rule: 'reader',
  isPersonal: true,
  query: z.strictObject({ text: searchText.meta({ description: 'Key, address or other value.' }) }),
  answers: { 200: foundMembers },
  handle: async ({ engine: { db }, query: { text } }) => {
    const { how, found } = await find(db, text.trim())
    const members = await shownIn(db, found.slice(0, FOUND_MAX))
    return { status: 200, body: { how, isComplete: found.length <= FOUND_MAX, members } }
  },
})

interface Found {
  readonly how: (typeof HOW)[number] | null
  readonly found: readonly FoundMember[]
}

async function find(db: Queryable, text: string): Promise<Found> {
  const byKey = await findPeopleByKey(db, text, FOUND_MAX + 1)
  if (byKey.length > 0) return { how: 'key', found: byKey }
  const byText = await findPeopleByText(db, text, FOUND_MAX + 1)
  if (byText.length > 0) return { how: 'text', found: byText }
  const [local = ''] = text.split('@')
  const begin = local.length < text.length ? local : local.slice(0, Math.ceil(local.length / 2))
  const near = begin.length < NEAR_CHARS_MIN ? [] : await findPeopleByText(db, begin, FOUND_MAX + 1)
  return near.length > 0 ? { how: 'near', found: near } : { how: null, found: [] }
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

export const MEMBER_FIND_ROUTES: readonly Route[] = [findRoute]
