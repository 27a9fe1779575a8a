/** The page, as `npm run build:dashboard` makes it: its files by their path, `index.html` and what that loads. */
export const files: Readonly<
  Record<
    string,
    {
      /** For `content-type`. */
      readonly type: string;
      /** Base64 of the compressed file. */
      readonly gzip: string;
    }
  >
>;
