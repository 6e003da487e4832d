// What a suite tries in many variants (databases, situations, seeds) it tries in all of them in `npm run proof`, in few in `npm test`.
export const EVERY_VARIANT = process.env.TEST_VARIANTS === 'every'

/** The first of them, or all. */
export const variants = <T>(all: readonly T[]): readonly T[] =>
  EVERY_VARIANT ? all : all.slice(0, 1)
