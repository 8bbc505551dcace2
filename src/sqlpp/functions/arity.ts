// How many arguments each function takes.

export interface Arity {
  readonly minimum: number;
  readonly maximum: number;
}

/** Names by the numbers of their arguments. */
const groups: readonly (readonly [minimum: number, maximum: number, names: string])[] = [
  [
    0,
    0,
    'clock_millis now_millis e inf nan neginf neg_inf pi posinf pos_inf min_version self uuid version current_users ds_version node_name',
  ],
  [0, 1, 'clock_local clock_str clock_utc now_local now_str now_utc random meta'],
  [0, 32767, 'array'],
  [
    1,
    1,
    'neg exists is_known is_missing is_not_known is_not_missing is_not_null is_not_valued is_not_unknown is_null is_valued isknown ismissing isnotknown isnotmissing isnotnull isnotunknown isnotvalued isnull isunknown isvalued regexp_prefix regexp_stop regexp_suffix not duration_to_str str_to_duration weekday_str initcap length lower reverse suffixes title upper abs acos asin atan ceil cos deg degrees exp ln log floor rad radians sign sin sqrt tan bitnot array_avg array_count array_distinct array_ifnull array_length array_max array_min array_reverse array_sort array_star array_sum object_inner_pairs object_innerpairs object_inner_values object_innervalues object_length object_names object_outer_pairs object_outerpairs object_outer_values object_outervalues object_pairs object_unwrap object_values decode_json encode_json encoded_size json_decode json_encode pairs poly_length base64 base64_decode base64_encode decode_base64 encode_base64 successor abort is_array is_atom is_bin is_binary is_bool is_boolean is_num is_number is_obj is_object is_str is_string isarray isatom isbin isbinary isbool isboolean isnum isnumber isobj isobject isstr isstring type type_name typename to_array to_atom to_bool to_boolean to_num to_number to_obj to_object to_str to_string toarray toatom tobool toboolean tonum tonumber toobj toobject tostr tostring unnest_position unnest_pos advisor len',
  ],
  [
    1,
    2,
    'like_prefix like_stop like_suffix hashbytes curl clock_tz millis millis_to_local millis_to_str millis_to_utc now_tz str_to_millis str_to_utc weekday_millis ltrim mask rtrim split trim round round_even round_nearest trunc object_extract object_filter object_pairs_nested object_paths tokens infer_value infervalue infer',
  ],
  [1, 3, 'slice'],
  [1, 32, 'flatten_keys'],
  [
    2,
    2,
    'div idiv imod mod sub in within eq le lt element field date_format_str date_part_str date_trunc_millis date_trunc_str contains position pos position0 pos0 position1 pos1 repeat contains_regex contains_regexp regex_contains regex_like regex_position0 regex_pos0 regexp_position0 regexp_pos0 regex_position1 regex_pos1 regexp_position1 regexp_pos1 regex_position regex_pos regexp_contains regexp_like regexp_position regexp_pos regexp_matches regexp_split atan2 power bitset bitclear array_contains array_contains_all array_contains_any array_flatten array_position array_pos array_repeat array_except array_binary_search object_field missing_if null_if missingif nullif nvl nan_if neginf_if posinf_if nanif neginfif posinfif',
  ],
  [
    2,
    3,
    'like date_part_millis millis_to_tz millis_to_zone_name str_to_tz str_to_zone_name lpad rpad substr substr0 substr1 bitshift bittest isbitset array_range contains_token contains_token_like contains_token_regex contains_token_regexp has_token',
  ],
  [
    2,
    32767,
    'add mult concat concat2 and or bitand bitor bitxor array_add array_append array_concat array_intersect array_prepend array_put array_remove array_symdiff array_symdiff1 array_symdiffn array_union array_upsert object_concat object_remove greatest least if_missing if_missing_or_null if_null ifmissing ifmissingornull ifnull coalesce if_inf if_nan if_nan_or_inf ifinf ifnan ifnanorinf',
  ],
  [
    3,
    3,
    'between date_add_millis date_add_str date_diff_millis date_diff_str date_diff_abs_str date_diff_abs_millis array_swap array_move object_add object_put object_rename object_replace nvl2',
  ],
  [3, 4, 'date_range_millis date_range_str replace regex_replace regexp_replace array_replace'],
  [3, 32767, 'array_insert decode'],
];

const arities: ReadonlyMap<string, Arity> = new Map(
  groups.flatMap(([minimum, maximum, names]) =>
    names.split(' ').map((name): [string, Arity] => [name, { minimum, maximum }]),
  ),
);

/** By the name in lower case. */
export function functionNamed(name: string): Arity | undefined {
  return arities.get(name);
}
