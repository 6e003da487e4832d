// What still refers to a domain: it cannot leave the tenant before nothing does. Counts everything and lists the first ones, so that the
// result stays small whatever the size of the tenant.
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { pathOf } from '../../../worker/http/api.ts'
import { defineM365Function } from '../define.ts'
import { NotFound, orNotFound } from '../failure.ts'
import { domainName } from '../parameters.ts'
import { textOf, textOrNull } from './entra-directory.ts'

const LISTED_MAX = 500

const references = z.object({
  Domain: z.string(),
  Count: z.number(),
  ByType: z.record(z.string(), z.number()).describe('How many users, groups and others.'),
  References: z
    .array(z.object({ Type: z.string(), Id: z.string(), Name: z.string().nullable() }))
    .describe('The first ones, up to Limit. Name is null where the app may not read it.'),
})

export const getDomainReferences = defineM365Function({
  name: 'Get-DomainReferences',
  description:
    'Lists users, groups and apps with a name or address in a domain. A domain can leave a tenant only when nothing does.',
  parameters: z.strictObject({
    Domain: domainName,
    Limit: z
      .int()
      .min(0)
      .max(LISTED_MAX)
      .default(100)
      .describe('How many to list; all are counted.'),
  }),
  result: references,
  // Without the last two, Graph tells only type and id.
  permissions: { graph: ['Domain.Read.All', 'User.Read.All', 'GroupMember.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'exchange',
  undo: null,
  run: async ({ params, tenant, signal }): Promise<z.infer<typeof references>> => {
    const { Domain, Limit } = params
    const path = pathOf`/domains/${Domain}/domainNameReferences`
    const query = { $select: 'id,displayName,userPrincipalName,mail' }
    const counts = new Map<string, number>()
    const listed: z.infer<typeof references>['References'] = []
    const read = async () => {
      for await (const one of tenant.graph.list({ path, query, signal })) {
        const type = typeOf(one)
        counts.set(type, (counts.get(type) ?? 0) + 1)
        if (listed.length < Limit)
          listed.push({ Type: type, Id: textOf(one.id), Name: nameOf(one) })
      }
    }
    await orNotFound(read, noDomain(Domain))
    const Count = [...counts.values()].reduce((sum, count) => sum + count, 0)
    return { Domain, Count, ByType: Object.fromEntries(counts), References: listed }
  },
})

const noDomain = (domain: string): NotFound =>
  new NotFound(`The tenant has no domain "${domain}". Check its spelling, or it has left already.`)

const typeOf = (object: JsonObject): string =>
  textOf(object['@odata.type']).replace(/^#microsoft\.graph\./, '') || 'directoryObject'

const nameOf = ({ userPrincipalName, mail, displayName }: JsonObject): string | null =>
  textOrNull(userPrincipalName) ?? textOrNull(mail) ?? textOrNull(displayName)
