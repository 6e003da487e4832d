// Programs that talk to the API use the typed client: no request by hand, no type that only claims to be an answer.
import { isCode, lineOf, type SourceFile, scan } from './source.ts'
import type { Rule } from './walls.ts'

const isOf = (files: readonly SourceFile[], folders: RegExp, allowed: RegExp) =>
  files.filter(({ path }) => isCode(path) && folders.test(path) && !allowed.test(path))

/** Addresses of the API that stand before a sign-in, and the transport's own `fetch`. */
const MAY_FETCH =
  /^src\/cli\/(?:connection\/(?:traffic|instances)|sign-in\/[\w-]+)\.ts$|^dashboard\/src\/(?:api\/call|sign-in\/oidc)\.ts$/

const oneTransport: Rule = {
  name: 'command line and dashboard send requests through the transport of the client',
  check: (files) =>
    isOf(files, /^(?:src\/cli|dashboard\/src)\//, MAY_FETCH).flatMap((file) => {
      const { code } = scan(file)
      const at = code.search(/(?<![\w.])fetch\(/)
      return at < 0 ? [] : [`${file.path}:${lineOf(code, at)} sends a request by itself`]
    }),
}

/** A record without named fields, a cast that the compiler cannot check, or a type given to an answer by hand. */
const UNTYPED =
  /\bas Row\b|\bas unknown as\b|\bas never\b|\bas Record<string|\bclient\.(?:get|post|put|delete)\b/

const typedAnswers: Rule = {
  name: 'commands take answers as the table of routes types them',
  check: (files) =>
    // `givenTo` joins the parts of endpoints that differ in one word.
    isOf(files, /^src\/cli\//, /^src\/cli\/connection\/client\.ts$/).flatMap((file) => {
      const { code } = scan(file)
      return [...code.matchAll(new RegExp(UNTYPED, 'g'))].map(
        ({ 0: found, index }) =>
          `${file.path}:${lineOf(code, index)} says "${found}": take the type of the endpoint`,
      )
    }),
}

/** A command with a value in it, put together by hand. */
const HAND_MADE = /[`"]matoolkit [a-z][^`:]*\$\{/

const commandsBuilt: Rule = {
  name: 'commands inside sentences are built by commandLine',
  check: (files) =>
    isOf(files, /^src\/(?:domain|engine|api)\//, /^$/).flatMap(({ path, text }) => {
      const at = text.search(HAND_MADE)
      return at < 0 ? [] : [`${path}:${lineOf(text, at)} builds a command by hand`]
    }),
}

export const CLIENTS: readonly Rule[] = [oneTransport, typedAnswers, commandsBuilt]
