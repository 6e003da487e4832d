// Lets a function of one group take a list of them: one after the other, so a run after a failure does those that are left. Jobs with one
// group are still done together with others of that group.
import type { Json } from '../../base/text/json.ts'
import type { Together } from '../../worker/functions/catalogue.ts'
import type { M365Tenant } from '../client/tenant.ts'
import type { M365Call } from './define.ts'

export type Listed<Params, Key extends keyof Params> = Omit<Params, Key> & {
  readonly [name in Key]: readonly string[]
}

interface OfOne<Params, Result extends Json> {
  run(call: M365Call<Params>): Promise<Result>
  readonly together?: Together<Params, Result, M365Tenant>
}

interface OfList<Params, Result extends Json> {
  run(call: M365Call<Params>): Promise<Result>
  readonly together?: Together<Params, Result, M365Tenant>
}

/** `all` makes one answer of those for each item. */
export function forEachOf<Params, Key extends keyof Params, One extends Json, All extends Json>(
  key: Key,
  { run, together }: OfOne<Params, One>,
  all: (params: Listed<Params, Key>, answers: readonly One[]) => All,
): OfList<Listed<Params, Key>, All> {
  type Call = M365Call<Listed<Params, Key>>
  const withItem = (params: Listed<Params, Key>, item: string) =>
    ({ ...params, [key]: item }) as unknown as Params
  const forItem = (call: Call, item: string): M365Call<Params> => ({
    ...call,
    params: withItem(call.params, item),
  })
  return {
    run: async (call) => {
      const answers: One[] = []
      for (const item of call.params[key]) answers.push(await run(forItem(call, item)))
      return all(call.params, answers)
    },
    ...(together && {
      together: {
        limit: together.limit,
        waitMs: together.waitMs,
        key: (params) => {
          const [only, more] = params[key]
          return only === undefined || more !== undefined
            ? null
            : together.key(withItem(params, only))
        },
        run: async (calls, onBehalfOf) => {
          const given = new Map<M365Call<unknown>, Call>(
            calls.map((call) => [forItem(call, call.params[key][0]!), call]),
          )
          const answers = await together.run([...given.keys()] as M365Call<Params>[], (some) =>
            onBehalfOf(some.map((one) => given.get(one)!)),
          )
          return answers.map((answer, at) =>
            answer instanceof Error ? answer : all(calls[at]!.params, [answer]),
          )
        },
      },
    }),
  }
}
