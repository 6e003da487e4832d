// Any paged list as CSV.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { csvListOf, csvText, pageRequest } from '../../../src/api/http/list-csv.ts'
import { type RouteRequest, read } from '../../../src/api/route.ts'
import { pageOf } from '../../../src/api/shapes/shapes.ts'
import { ROUTES } from '../under-test.ts'

const row = z.strictObject({
  id: z.int(),
  name: z.string(),
  at: z.date().nullable(),
  step: z.strictObject({ name: z.string(), tags: z.array(z.string()) }).nullable(),
})

const PAGES = [
  [{ id: 1, name: '=1+1', at: new Date(0), step: { name: 'a,b', tags: ['x'] } }],
  [{ id: 2, name: 'Bo "B"', at: null, step: null }],
]

const asked: unknown[] = []
const route = read({
  method: 'GET',
  path: '/api/things',
  operation: 'listThings',
  tag: 'service',
  summary: 'List things',
  rule: 'reader',
  query: z.looseObject({ cursor: z.string().optional() }),
  answers: { 200: pageOf('things', row) },
  handle: async ({ query }) => {
    asked.push(query)
    const at = Number(query.cursor ?? 0)
    const next = at + 1 < PAGES.length ? String(at + 1) : null
    return { status: 200, body: { things: PAGES[at]!, total: 2, isTotalExact: true, next } }
  },
})

it('has the fields of the rows as columns, and all pages', async () => {
  const signal = new AbortController().signal
  const request = { query: { colour: 'red', limit: 1 }, signal } as unknown as RouteRequest<
    unknown,
    unknown,
    unknown
  >
  const list = csvListOf(route)!
  const first = await route.handle(pageRequest(request))
  const parts: string[] = []
  for await (const part of csvText(route, list, request, first)) parts.push(part)
  assert.equal(
    parts.join(''),
    [
      'id,name,at,step.name,step.tags',
      `1,"'=1+1",1970-01-01T00:00:00.000Z,"a,b","[""x""]"`,
      '2,"Bo ""B""",,,',
      '',
    ].join('\r\n'),
  )
  assert.deepEqual(asked, [
    { colour: 'red', limit: 500 },
    { colour: 'red', limit: 500, cursor: '1' },
  ])
})

it('is offered by every route that answers pages', () => {
  const pages = ROUTES.filter(({ answers }) => {
    const page = answers[200]
    return page instanceof z.ZodObject && page.shape.next instanceof z.ZodNullable
  })
  assert.ok(pages.length > 10)
  for (const page of pages) assert.ok(csvListOf(page), page.operation)
  const others = ROUTES.filter((one) => !pages.includes(one) && csvListOf(one) !== null)
  assert.deepEqual(others, [])
})
