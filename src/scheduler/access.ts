// How this process reaches data sources, from its settings: for whoever puts the scheduler or a preview together.
import type { Clock } from '../clock.ts'
import { type Config, readConnectionVariable } from '../config.ts'
import { AZURE_ENDPOINTS } from '../sign-in/token.ts'
import type { SourceAccess } from './reading.ts'
import { openSource } from './sources/source.ts'
import { makeSourceTokens } from './sources/token.ts'

type Needed = 'sourceFolder' | 'sourceTimeoutSec' | 'identityEndpoint' | 'identityHeader'

/** `clock` is real also where the world's time is not: a server takes as long as it takes. */
export function sourcesFrom(config: Pick<Config, Needed>, clock: Clock): SourceAccess {
  const { identityEndpoint: url, identityHeader: header } = config
  const identity = url !== null && header !== null ? { url, header } : null
  return {
    settings: {
      connection: readConnectionVariable,
      clock,
      tokens: makeSourceTokens(clock, { ...AZURE_ENDPOINTS, identity }),
      folder: config.sourceFolder,
      timeoutMs: config.sourceTimeoutSec * 1000,
    },
    open: openSource,
  }
}
