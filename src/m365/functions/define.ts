// How a function of Microsoft 365 is defined: as any function, with Graph and Exchange in its tenant.
import type { Json } from '../../base/text/json.ts'
import {
  defineFunction,
  type FunctionCall,
  type FunctionDefinition,
  type OnBehalfOf,
  type WorkerFunction,
} from '../../worker/functions/catalogue.ts'
import type { M365Tenant } from '../client/tenant.ts'

export type M365Call<Params> = FunctionCall<Params, M365Tenant>
export type OnBehalfInM365 = OnBehalfOf<M365Tenant>

export const defineM365Function = <Params, Result extends Json>(
  definition: FunctionDefinition<Params, Result, M365Tenant>,
): WorkerFunction => defineFunction(definition)
