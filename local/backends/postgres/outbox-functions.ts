/**
 * Writes rows of the outbox, with one parameter of text, so that it may be called in the transaction of any driver.
 *
 * @param s the schema's name, quoted
 */
export const outboxFunctions = (s: string): string => `
  CREATE FUNCTION ${s}.write_outbox(request text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    r record;
    written int;
  BEGIN
    SELECT * INTO r FROM json_to_record(request::json) AS x (at bigint, target text, channel text, messages json);
    INSERT INTO ${s}.outbox (target, written_at, message)
    SELECT r.target, coalesce(r.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), m.text
    FROM json_array_elements_text(r.messages) WITH ORDINALITY m (text, n) ORDER BY m.n;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF r.channel IS NOT NULL THEN
      PERFORM pg_notify(r.channel, r.target);
    END IF;
    RETURN written;
  END $$;`;
