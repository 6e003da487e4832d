// Microsoft 365 as a package of functions: what `app` passes to the worker.
import type {
  ConnectedPackage,
  ConnectOptions,
  FunctionPackage,
} from '../worker/functions/function-package.ts'
import { M365_CATALOGUE } from './catalogue.ts'
import { type GrantedRights, missingRights } from './check/rights.ts'
import { connectTenant } from './client/connect.ts'
import { openCredential } from './client/credential.ts'
import { changeOfList, NO_M365_TENANT, odataText } from './client/tenant.ts'
import { defineM365Function } from './functions/define.ts'
import { STANDARD_FUNCTIONS } from './functions/standard.ts'
import { meaningOf } from './meanings/meaning-of.ts'

const KIT = { defineFunction: defineM365Function, odataText, changeOfList } as const
export type M365Kit = typeof KIT

export const M365: FunctionPackage = {
  functions: STANDARD_FUNCTIONS,
  catalogue: M365_CATALOGUE.functions,
  kit: KIT,
  meaningOf,
  noTenant: NO_M365_TENANT,
  connect: async (options) => (options.config.tenantId === null ? null : connected(options)),
}

async function connected(options: ConnectOptions): Promise<ConnectedPackage> {
  const { config, clock, log, keyVault, ...parts } = options
  const credential = await openCredential(config, clock, log, keyVault)
  const tenant = connectTenant({ ...parts, config, clock, credential })
  let rights: GrantedRights | null = null
  return {
    tenant,
    signIn: async () => {
      rights = await tenant.signIn()
    },
    throttles: () => tenant.throttles(),
    close: () => tenant.close(),
    missingRights: (functions) => (rights ? missingRights(functions, rights) : []),
  }
}
